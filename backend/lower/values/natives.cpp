#include "backend/lower/values/natives.h"

namespace imbrex::lower {
namespace {

llvm::Value *extremum(llvm::IRBuilder<> &b, bool isMax, bool, llvm::ArrayRef<llvm::Value *> x) {
  return b.CreateBinaryIntrinsic(isMax ? llvm::Intrinsic::maximumnum : llvm::Intrinsic::minimumnum,
                                 x[0], x[1]);
}

} // namespace

NativeInstructions nativesOf(const Vocabulary &words) {
  return {.extremum = extremum,
          .takesConstants = true,
          .keepsNaN = words.keepsNaN(),
          .f16Ops = " add sub mul fma ",
          .bf16Ops = words.machine().bf16Ops};
}

} // namespace imbrex::lower
