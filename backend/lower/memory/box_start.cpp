#include "backend/lower/memory/box_start.h"

namespace imbrex::lower {

llvm::Value *boxStart(llvm::IRBuilder<> &builder, llvm::Value *coordinate, ir::ElementKind kind,
                      std::int64_t unit) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  const auto bound = [&](llvm::Intrinsic::ID id, std::int64_t limit) {
    coordinate = builder.CreateBinaryIntrinsic(id, coordinate,
                                               builder.getInt64(static_cast<std::uint64_t>(limit)));
  };
  if (info(kind).bits == 64) {
    if (!ir::isSigned(kind)) bound(llvm::Intrinsic::umin, kFar);
    if (unit != 1) {
      bound(llvm::Intrinsic::smin, kFar / unit);
      bound(llvm::Intrinsic::smax, -kFar / unit);
    }
  }
  return unit == 1
             ? coordinate
             : builder.CreateMul(coordinate, builder.getInt64(static_cast<std::uint64_t>(unit)));
}

} // namespace imbrex::lower
