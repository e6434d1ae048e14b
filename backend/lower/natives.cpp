#include "backend/lower/natives.h"

namespace imbrex::lower {
namespace {

llvm::Value *extremum(llvm::IRBuilder<> &b, bool isMax, bool, llvm::ArrayRef<llvm::Value *> x) {
  return b.CreateBinaryIntrinsic(isMax ? llvm::Intrinsic::maximumnum : llvm::Intrinsic::minimumnum,
                                 x[0], x[1]);
}

} // namespace

const Natives kNatives{.extremum = extremum, .takesConstants = true};

} // namespace imbrex::lower
