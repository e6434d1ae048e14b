#include "backend/target/host/nest/body.h"

#include <algorithm>

namespace imbrex::host {

using llvm::Value;

/// x at an index that is a value itself; 0 where that is out of range.
Lanes Body::gather(const ir::Op &op, PointId at) {
  const auto axis = static_cast<size_t>(op.attrs<ir::AxisAttrs>().axis);
  const ir::Type &indexType = f_.type(op.operand(1));
  const std::int64_t extent = f_.type(op.operand(0)).shape()[static_cast<std::int32_t>(axis)];
  const Lanes index = read(op.operand(1), at);
  Value *given = index.isUniform() ? index.value : vector(index);
  Coordinate coordinate{
      .value = nullptr, .isVector = given->getType()->isVectorTy(), .depth = index.depth};
  Value *inside = nullptr;
  {
    const AtDepth position(*this, index.depth);
    Value *wide = emitCast(b_, indexType.element(), ir::ElementKind::I64, {}, given, f_.natives);
    // A negative index is out of range, as a large unsigned number.
    inside = b_.CreateICmpULT(wide, llvm::ConstantInt::getSigned(wide->getType(), extent));
    coordinate.value = b_.CreateSelect(inside, wide, llvm::Constant::getNullValue(wide->getType()));
  }
  Point from = point(at);
  from[axis] = coordinate;
  const Lanes found = read(op.operand(0), intern(from));
  const bool isOne = !coordinate.isVector && found.isUniform();
  const std::int32_t depth = std::max(index.depth, found.depth);
  Value *x = isOne ? found.value : vector(found);
  Value *keeps = isOne ? inside : vector(Lanes{inside, coordinate.isVector, 0, index.depth});
  const AtDepth position(*this, depth);
  return {.value = b_.CreateSelect(keeps, x, llvm::Constant::getNullValue(x->getType())),
          .isVector = !isOne && width_ > 1,
          .depth = depth};
}

} // namespace imbrex::host
