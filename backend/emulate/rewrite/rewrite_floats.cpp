#include "backend/emulate/rewrite/rewrite_floats.h"

#include "backend/emulate/rewrite/halves.h"
#include "backend/emulate/run/calls.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

namespace imbrex::emulate {
namespace {

using llvm::Value;

/// Equal operands have the same bits, or are zeros: their bits or-ed are -0 if one is, and-ed only
/// if both are.
Value *extreme(Builder &b, llvm::CallInst &call, bool isMinimum) {
  Value *x = call.getArgOperand(0), *y = call.getArgOperand(1);
  llvm::Type *type = x->getType();
  llvm::Type *bits = type->getWithNewType(b.getIntNTy(type->getScalarSizeInBits()));
  Value *xBits = b.CreateBitCast(x, bits), *yBits = b.CreateBitCast(y, bits);
  Value *same = isMinimum ? b.CreateOr(xBits, yBits) : b.CreateAnd(xBits, yBits);
  Value *first = isMinimum ? b.CreateFCmpOLT(x, y) : b.CreateFCmpOGT(x, y);
  Value *other = b.CreateSelect(b.CreateOr(first, b.CreateFCmpUNO(y, y)), x, y);
  return b.CreateSelect(b.CreateFCmpOEQ(x, y), b.CreateBitCast(same, type), other);
}

bool rewriteExtreme(Builder &b, llvm::Instruction &instruction) {
  auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (call == nullptr) return false;
  switch (call->getIntrinsicID()) {
  case llvm::Intrinsic::minnum:
  case llvm::Intrinsic::minimumnum: call->replaceAllUsesWith(extreme(b, *call, true)); return true;
  case llvm::Intrinsic::maxnum:
  case llvm::Intrinsic::maximumnum: call->replaceAllUsesWith(extreme(b, *call, false)); return true;
  default: return false;
  }
}

} // namespace

void rewriteFloats(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      Builder b(&instruction);
      if (rewriteExtreme(b, instruction) || rewriteHalf(b, instruction))
        instruction.eraseFromParent();
    }
}

} // namespace imbrex::emulate
