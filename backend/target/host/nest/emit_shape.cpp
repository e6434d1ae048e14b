#include "backend/support/check.h"
#include "backend/target/host/nest/body.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

/// Ops that only move elements: the result at a point is an operand at another point.
namespace imbrex::host {

using llvm::Value;

// --- points ---

PointId Body::broadcastPoint(const ir::Op &op, PointId at) {
  const ir::Shape &from = f_.type(op.operand(0)).shape();
  const Point result = point(at);
  Point read;
  for (std::int32_t axis = 0; axis < from.rank(); ++axis)
    read.push_back(from[axis] == 1 ? constant(0) : result[static_cast<size_t>(axis)]);
  return intern(read);
}

void Body::reshapeGroup(llvm::ArrayRef<std::int64_t> from, llvm::ArrayRef<std::int64_t> to,
                        llvm::ArrayRef<Coordinate> at, Point &result) {
  const auto isUnit = [](std::int64_t extent) { return extent == 1; };
  Coordinate rest = linear(to, at);
  std::int64_t inner = llvm::product_of(from);
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] == 1) {
      result.push_back(constant(0));
      continue;
    }
    inner /= from[axis];
    const bool isLast =
        std::all_of(from.begin() + static_cast<std::ptrdiff_t>(axis) + 1, from.end(), isUnit);
    result.push_back(isLast ? rest : quotient(rest, inner));
    if (!isLast) rest = remainder(rest, inner);
  }
}

PointId Body::reshapePoint(const ir::Shape &from, const ir::Shape &to, PointId at) {
  const Point result = point(at);
  const llvm::ArrayRef<std::int64_t> source = from.extents(), target = to.extents();
  Point read;
  // Cut both shapes into the shortest runs of axes with equal numbers of elements: an index only
  // changes within its run.
  size_t i = 0, j = 0;
  while (i < source.size() || j < target.size()) {
    const size_t firstSource = i, firstTarget = j;
    std::int64_t sourceElements = 1, targetElements = 1;
    if (i < source.size()) sourceElements = source[i++];
    if (j < target.size()) targetElements = target[j++];
    while (sourceElements != targetElements)
      if (sourceElements < targetElements)
        sourceElements *= source[i++];
      else
        targetElements *= target[j++];
    reshapeGroup(source.slice(firstSource, i - firstSource),
                 target.slice(firstTarget, j - firstTarget),
                 llvm::ArrayRef<Coordinate>(result).slice(firstTarget, j - firstTarget), read);
  }
  return intern(read);
}

PointId Body::permutePoint(const ir::Op &op, PointId at) {
  const auto &order = op.attrs<ir::PermuteAttrs>().order;
  const Point result = point(at);
  Point read(result.size());
  for (size_t axis = 0; axis < order.size(); ++axis)
    read[static_cast<size_t>(order[axis])] = result[axis];
  return intern(read);
}

PointId Body::slicePoint(const ir::Op &op, PointId at) {
  const auto &slice = op.attrs<ir::SliceAttrs>();
  Point read = point(at);
  for (size_t axis = 0; axis < read.size(); ++axis)
    read[axis] = addConstant(scale(read[axis], slice.strides[axis]), slice.offsets[axis]);
  return intern(read);
}

PointId Body::flipPoint(const ir::Op &op, PointId at) {
  const auto axis = static_cast<size_t>(op.attrs<ir::AxisAttrs>().axis);
  Point read = point(at);
  const std::int64_t extent = f_.type(op.result()).shape()[static_cast<std::int32_t>(axis)];
  read[axis] = addConstant(scale(read[axis], -1), extent - 1);
  return intern(read);
}

// --- ops that choose between operands by index ---

Lanes Body::arange(const ir::Op &op, PointId at) {
  const auto &attrs = op.attrs<ir::ArangeAttrs>();
  const Coordinate &c = point(at)[0];
  const ir::Type &type = f_.type(op.result());
  const AtDepth position(*this, c.depth);
  llvm::Type *element = lanesLike(c.value->getType(), f_.laneType(type));
  // Everything modulo the element's width, as sums and products of elements are.
  Value *index = b_.CreateZExtOrTrunc(c.value, element);
  const auto number = [&](std::int64_t value) {
    return llvm::ConstantInt::get(element, static_cast<std::uint64_t>(value), false, true);
  };
  const std::int32_t unused = 64 - info(type.element()).bits;
  const auto step = static_cast<std::uint64_t>(c.step) * static_cast<std::uint64_t>(attrs.step);
  return {.value = b_.CreateAdd(b_.CreateMul(index, number(attrs.step)), number(attrs.start)),
          .isVector = c.isVector,
          .step = static_cast<std::int64_t>(step << unused) >> unused,
          .depth = c.depth};
}

Lanes Body::join(const ir::Op &op, PointId at) {
  Point inner = point(at);
  const Coordinate which = inner.pop_back_val();
  const PointId operandPoint = intern(inner);
  const Lanes x = read(op.operand(0), operandPoint), y = read(op.operand(1), operandPoint);
  const std::int32_t depth = std::max({which.depth, x.depth, y.depth});
  const bool isUniform = width_ == 1 || (!which.isVector && which.step == 0);
  Value *index = isUniform ? which.value : vector(which);
  Value *first = vector(x), *second = vector(y);
  const AtDepth position(*this, depth);
  Value *isFirst = b_.CreateICmpEQ(index, llvm::Constant::getNullValue(index->getType()));
  return {.value = b_.CreateSelect(isFirst, first, second), .isVector = width_ > 1, .depth = depth};
}

Lanes Body::concat(const ir::Op &op, PointId at) {
  const auto axis = op.attrs<ir::AxisAttrs>().axis;
  const auto axisIndex = static_cast<size_t>(axis);
  const std::int64_t firstExtent = f_.type(op.operand(0)).shape()[axis];
  const std::int64_t secondExtent = f_.type(op.operand(1)).shape()[axis];
  Point firstPoint = point(at), secondPoint = point(at);
  const Coordinate where = firstPoint[axisIndex];
  // Lanes of the other operand read some element of this one, which is then not chosen.
  firstPoint[axisIndex] = clamp(where, firstExtent);
  secondPoint[axisIndex] = clamp(addConstant(where, -firstExtent), secondExtent);
  const Lanes x = read(op.operand(0), intern(firstPoint));
  const Lanes y = read(op.operand(1), intern(secondPoint));
  const std::int32_t depth = std::max({where.depth, x.depth, y.depth});
  const bool isUniform = width_ == 1 || (!where.isVector && where.step == 0);
  Value *index = isUniform ? where.value : vector(where);
  Value *first = vector(x), *second = vector(y);
  const AtDepth position(*this, depth);
  Value *bound = llvm::ConstantInt::getSigned(index->getType(), firstExtent);
  return {.value = b_.CreateSelect(b_.CreateICmpSLT(index, bound), first, second),
          .isVector = width_ > 1,
          .depth = depth};
}

/// The same bits; a byte holds two f4e2m1, the first in its low half.
Lanes Body::bitcast(const ir::Op &op, PointId at) {
  const ir::Type &from = f_.type(op.operand(0)), &to = f_.type(op.result());
  const bool unpacks = to.element() == ir::ElementKind::F4E2M1;
  if (unpacks != (from.element() == ir::ElementKind::F4E2M1)) return nibbles(op, at, unpacks);
  const Lanes x = read(op.operand(0), at);
  if (x.step != 0 && f_.laneType(from) == f_.laneType(to)) return x;
  Value *value = x.isUniform() ? x.value : vector(x);
  const AtDepth position(*this, x.depth);
  return {.value = b_.CreateBitCast(value, lanesLike(value->getType(), f_.laneType(to))),
          .isVector = value->getType()->isVectorTy(),
          .depth = x.depth};
}

Lanes Body::nibbles(const ir::Op &op, PointId at, bool unpacks) {
  Point from = point(at);
  const Coordinate last = from.back();
  if (!unpacks) {
    from.back() = scale(last, 2);
    const Lanes low = read(op.operand(0), intern(from));
    from.back() = addConstant(from.back(), 1);
    const Lanes high = read(op.operand(0), intern(from));
    Value *lowBits = vector(low), *highBits = vector(high);
    const std::int32_t depth = std::max(low.depth, high.depth);
    const AtDepth position(*this, depth);
    return {.value = b_.CreateOr(lowBits, b_.CreateShl(highBits, 4)),
            .isVector = width_ > 1,
            .depth = depth};
  }
  from.back() = quotient(last, 2);
  const Lanes byte = read(op.operand(0), intern(from));
  Value *bits = vector(byte), *index = vector(last);
  const std::int32_t depth = std::max(byte.depth, last.depth);
  const AtDepth position(*this, depth);
  Value *odd = b_.CreateTrunc(index, lanesLike(index->getType(), f_.i1));
  return {.value = b_.CreateSelect(odd, b_.CreateLShr(bits, 4), b_.CreateAnd(bits, 15)),
          .isVector = width_ > 1,
          .depth = depth};
}

/// A reduction over one element is that element, and its index 0.
Lanes Body::reduceOfOne(const ir::Op &op, ir::ValueId value, PointId at) {
  const auto axis = op.attrs<ir::ReduceAttrs>().axis;
  IMBREX_CHECK(f_.type(op.operand(0)).shape()[axis] == 1, "a reduction is not computed inline");
  if (value != op.result(0)) return uniform(llvm::ConstantInt::get(f_.i32, 0));
  Point read = point(at);
  read.insert(read.begin() + axis, constant(0));
  return this->read(op.operand(0), intern(read));
}

} // namespace imbrex::host
