#pragma once

#include "backend/machine/mma.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

/// A call of any matrix instruction's intrinsic, made of its row of the table.
namespace imbrex::testing {

inline bool takes(const machine::MmaInstruction &x, machine::MmaArgument argument) {
  return llvm::is_contained(x.arguments, argument);
}

inline llvm::Intrinsic::ID intrinsicOf(const machine::MmaInstruction &x) {
  return llvm::Intrinsic::lookupIntrinsicID("llvm." + std::string(x.intrinsic));
}

inline std::int64_t bitsOf(llvm::Type *type) {
  if (auto *members = llvm::dyn_cast<llvm::StructType>(type)) {
    std::int64_t bits = 0;
    for (llvm::Type *member : members->elements()) bits += bitsOf(member);
    return bits;
  }
  return static_cast<std::int64_t>(type->getPrimitiveSizeInBits().getFixedValue());
}

inline std::int64_t bitsOf(const machine::MmaInstruction &x, machine::MmaOperand operand) {
  return 32 * machine::registersOf(x, operand);
}

/// The vector that an overloaded intrinsic of AMD's takes a fragment as.
inline llvm::Type *vectorOf(llvm::LLVMContext &context, const machine::MmaInstruction &x,
                            machine::MmaOperand operand) {
  using machine::MatrixElement;
  using machine::MmaOperand;
  const MatrixElement element = operand == MmaOperand::A   ? x.a
                                : operand == MmaOperand::B ? x.b
                                                           : x.sums;
  const bool hasBfloat = machine::hasInstruction(*machine::findMachine("gfx1250"), x);
  llvm::Type *of = llvm::Type::getInt32Ty(context);
  if (element == MatrixElement::F16) of = llvm::Type::getHalfTy(context);
  if (element == MatrixElement::F32) of = llvm::Type::getFloatTy(context);
  if (element == MatrixElement::BF16)
    of = hasBfloat ? llvm::Type::getBFloatTy(context) : llvm::Type::getInt16Ty(context);
  return llvm::FixedVectorType::get(of, static_cast<unsigned>(bitsOf(x, operand) / bitsOf(of)));
}

inline llvm::Function *declareProduct(llvm::Module &module, const machine::MmaInstruction &x) {
  using machine::MmaArgument;
  using machine::MmaOperand;
  const llvm::Intrinsic::ID id = intrinsicOf(x);
  std::vector<llvm::Type *> overloads;
  const auto add = [&](MmaOperand operand) {
    overloads.push_back(vectorOf(module.getContext(), x, operand));
  };
  if (llvm::Intrinsic::isOverloaded(id)) {
    if (x.intrinsic.starts_with("amdgcn.wmma")) add(MmaOperand::Sums);
    add(MmaOperand::A);
    if (takes(x, MmaArgument::FormatA) || x.intrinsic.ends_with(".f4")) add(MmaOperand::B);
  }
  return llvm::Intrinsic::getOrInsertDeclaration(&module, id, overloads);
}

/// Appends the call and gives the sums. `load` gives what a parameter takes of an operand, from one
/// of its bits on.
class ProductCall {
public:
  using Load =
      std::function<llvm::Value *(machine::MmaOperand, std::int64_t bit, llvm::Type *type)>;

  ProductCall(llvm::IRBuilder<> &builder, const machine::MmaInstruction &x, Load load)
      : builder_(builder), x_(x), load_(std::move(load)),
        intrinsic_(declareProduct(*builder.GetInsertBlock()->getModule(), x)) {}

  llvm::Value *append() {
    for (const machine::MmaArgument argument : x_.arguments) append(argument);
    REQUIRE(arguments_.size() == intrinsic_->arg_size());
    llvm::Value *sums = builder_.CreateCall(intrinsic_, arguments_);
    CHECK(bitsOf(sums->getType()) == bitsOf(x_, machine::MmaOperand::Sums));
    return sums;
  }

private:
  llvm::Type *next() const {
    REQUIRE(arguments_.size() < intrinsic_->arg_size());
    return intrinsic_->getFunctionType()->getParamType(static_cast<unsigned>(arguments_.size()));
  }

  void appendLoaded(machine::MmaOperand operand) {
    const std::int64_t bits = bitsOf(x_, operand);
    for (std::int64_t taken = 0; taken < bits;) {
      llvm::Type *type = next();
      arguments_.push_back(load_(operand, taken, type));
      taken += bitsOf(type);
      CHECK(taken <= bits);
    }
  }

  void append(machine::MmaArgument argument) {
    using machine::MmaArgument;
    using machine::MmaOperand;
    switch (argument) {
    case MmaArgument::A: return appendLoaded(MmaOperand::A);
    case MmaArgument::B: return appendLoaded(MmaOperand::B);
    case MmaArgument::Sums: return appendLoaded(MmaOperand::Sums);
    case MmaArgument::ScaleA: return appendLoaded(MmaOperand::ScaleA);
    case MmaArgument::ScaleB: return appendLoaded(MmaOperand::ScaleB);
    case MmaArgument::SignedA:
    case MmaArgument::SignedB:
    case MmaArgument::FormatA:
    case MmaArgument::FormatB:
    case MmaArgument::ScaleFormatA:
    case MmaArgument::ScaleFormatB:
    case MmaArgument::ScaleByteA:
    case MmaArgument::ScaleByteB:
    case MmaArgument::ScaleLaneA:
    case MmaArgument::ScaleLaneB:
    case MmaArgument::Zero: break;
    }
    arguments_.push_back(llvm::ConstantInt::get(
        next(), static_cast<std::uint64_t>(machine::immediateOf(x_, argument))));
  }

  llvm::IRBuilder<> &builder_;
  const machine::MmaInstruction &x_;
  Load load_;
  llvm::Function *intrinsic_;
  std::vector<llvm::Value *> arguments_;
};

} // namespace imbrex::testing
