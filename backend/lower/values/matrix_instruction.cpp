#include "backend/lower/values/matrix_instruction.h"

#include "backend/lower/values/arithmetic.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

#include <string>

namespace imbrex::lower {

using llvm::Value;
using machine::MatrixElement;
using machine::MmaArgument;
using machine::MmaInstruction;
using machine::MmaOperand;

namespace {

using Builder = llvm::IRBuilder<>;

/// The vector that an overloaded intrinsic takes a fragment as.
llvm::Type *fragmentType(llvm::LLVMContext &context, const MmaInstruction &row,
                         MmaOperand operand) {
  llvm::Type *of = llvm::Type::getInt32Ty(context);
  const MatrixElement element = machine::elementOf(row, operand);
  if (element == MatrixElement::F16) of = llvm::Type::getHalfTy(context);
  if (element == MatrixElement::F32) of = llvm::Type::getFloatTy(context);
  if (element == MatrixElement::BF16)
    of = machine::takesBfloat(row) ? llvm::Type::getBFloatTy(context)
                                   : llvm::Type::getInt16Ty(context);
  const auto bits = static_cast<unsigned>(32 * machine::registersOf(row, operand));
  return llvm::FixedVectorType::get(of, bits / of->getScalarSizeInBits());
}

llvm::Function *declare(llvm::Module &module, const MmaInstruction &row) {
  const llvm::Intrinsic::ID id =
      llvm::Intrinsic::lookupIntrinsicID("llvm." + std::string(row.intrinsic));
  IMBREX_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no '{0}'", row.intrinsic);
  llvm::SmallVector<llvm::Type *, 3> overloads;
  const auto add = [&](MmaOperand operand) {
    overloads.push_back(fragmentType(module.getContext(), row, operand));
  };
  if (llvm::Intrinsic::isOverloaded(id)) {
    if (machine::namesSumsFirst(row)) add(MmaOperand::Sums);
    add(MmaOperand::A);
    if (machine::namesBothOperands(row)) add(MmaOperand::B);
  }
  return llvm::Intrinsic::getOrInsertDeclaration(&module, id, overloads);
}

unsigned bitsOf(llvm::Type *type) {
  return static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue());
}

/// Registers as one value of a type.
Value *joined(Builder &b, llvm::ArrayRef<Value *> registers, llvm::Type *type) {
  if (registers.size() == 1)
    return registers[0]->getType() == type ? registers[0] : b.CreateBitCast(registers[0], type);
  Value *const vector = vectorOf(b, registers);
  return vector->getType() == type ? vector : b.CreateBitCast(vector, type);
}

} // namespace

MatrixInstruction::MatrixInstruction(llvm::Module &module, const MmaInstruction &row)
    : row_(row), intrinsic_(declare(module, row)), sums_(intrinsic_->getReturnType()) {}

MatrixValues MatrixInstruction::packSums(Builder &b, llvm::ArrayRef<Value *> elements) const {
  if (!sums_->isVectorTy()) return MatrixValues(elements);
  // As the product before has left them.
  if (Value *whole = vectorTakenApart(elements); whole && whole->getType() == sums_) return {whole};
  return {joined(b, elements, sums_)};
}

MatrixValues MatrixInstruction::unpackSums(Builder &b, llvm::ArrayRef<Value *> packed) const {
  if (!sums_->isVectorTy()) return MatrixValues(packed);
  MatrixValues elements;
  const auto *const type = llvm::cast<llvm::FixedVectorType>(sums_);
  for (unsigned i = 0; i < type->getNumElements(); ++i)
    elements.push_back(b.CreateExtractElement(packed[0], std::uint64_t{i}));
  return elements;
}

MatrixValues MatrixInstruction::multiply(Builder &b, Operands operands,
                                         llvm::ArrayRef<Value *> sums) const {
  MatrixValues arguments;
  const auto next = [&] {
    return intrinsic_->getFunctionType()->getParamType(static_cast<unsigned>(arguments.size()));
  };
  const auto append = [&](llvm::ArrayRef<Value *> registers) {
    while (!registers.empty()) {
      llvm::Type *const type = next();
      const std::size_t count = bitsOf(type) / bitsOf(registers[0]->getType());
      arguments.push_back(joined(b, registers.take_front(count), type));
      registers = registers.drop_front(count);
    }
  };
  for (const MmaArgument argument : row_.arguments) {
    if (argument == MmaArgument::A)
      append(operands.a);
    else if (argument == MmaArgument::B)
      append(operands.b);
    else if (argument == MmaArgument::ScaleByteA || argument == MmaArgument::ScaleByteB)
      arguments.push_back(llvm::ConstantInt::get(
          next(),
          static_cast<std::uint64_t>(argument == MmaArgument::ScaleByteA ? operands.scaleByteA
                                                                         : operands.scaleByteB)));
    else if (argument == MmaArgument::ScaleA)
      append(operands.scaleA);
    else if (argument == MmaArgument::ScaleB)
      append(operands.scaleB);
    else if (argument == MmaArgument::Sums)
      arguments.append(sums.begin(), sums.end());
    else
      arguments.push_back(llvm::ConstantInt::get(
          next(), static_cast<std::uint64_t>(machine::immediateOf(row_, argument))));
  }
  llvm::CallInst *const result = b.CreateCall(intrinsic_, arguments);
  // LLVM 22 does not say so of all of them, and could put one into a branch.
  result->addFnAttr(llvm::Attribute::Convergent);
  const auto *const members = llvm::dyn_cast<llvm::StructType>(sums_);
  if (!members) return {result};
  MatrixValues parts;
  for (unsigned i = 0; i < members->getNumElements(); ++i)
    parts.push_back(b.CreateExtractValue(result, i));
  return parts;
}

} // namespace imbrex::lower
