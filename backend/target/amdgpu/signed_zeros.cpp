#include "backend/target/amdgpu/signed_zeros.h"

#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/PatternMatch.h"

namespace imbrex::target::amdgpu {
namespace {

using llvm::Value;

/// x · y + −0 in place of x · y or −(x · y); null for anything else.
Value *withAddend(llvm::IRBuilder<> &b, Value *product) {
  namespace match = llvm::PatternMatch;
  Value *x = nullptr, *y = nullptr, *negated = nullptr;
  const bool isNegated = match::match(product, match::m_FNeg(match::m_Value(negated)));
  if (!match::match(isNegated ? negated : product,
                    match::m_FMul(match::m_Value(x), match::m_Value(y))))
    return nullptr;
  llvm::Constant *zero = llvm::ConstantFP::getNegativeZero(x->getType());
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()},
                           {isNegated ? b.CreateFNeg(x) : x, y, zero});
}

void keepSignOf(llvm::FPTruncInst &rounding) {
  llvm::IRBuilder<> b(&rounding);
  auto *product = llvm::dyn_cast<llvm::Instruction>(rounding.getOperand(0));
  Value *sum = product != nullptr ? withAddend(b, product) : nullptr;
  if (sum == nullptr) return;
  rounding.setOperand(0, sum);
  if (product->use_empty()) product->eraseFromParent();
}

} // namespace

void keepSignsOfZero(llvm::Module &module, const llvm::TargetMachine &machine) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration()) continue;
    const bool fusesBf16 = machine.getSubtargetImpl(function)->checkFeatures("+fma-mix-bf16-insts");
    llvm::SmallVector<llvm::FPTruncInst *> roundings;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *rounding = llvm::dyn_cast<llvm::FPTruncInst>(&instruction)) {
        const llvm::Type *to = rounding->getType()->getScalarType();
        const bool isSingle = rounding->getSrcTy()->getScalarType()->isFloatTy();
        if (isSingle && (to->isHalfTy() || (to->isBFloatTy() && fusesBf16)))
          roundings.push_back(rounding);
      }
    for (llvm::FPTruncInst *rounding : roundings) keepSignOf(*rounding);
  }
}

} // namespace imbrex::target::amdgpu
