#include "backend/target/host/plan/pulled_points.h"

#include "backend/target/host/plan/loop_plan.h"
#include "backend/target/host/plan/nest_shape.h"

#include <algorithm>
#include <limits>

namespace imbrex::host {

using ir::OpKind;
using ir::ValueId;

namespace {

/// Whether shapes differ by axes of one element at most, whose index is 0: they have the same
/// points.
bool differByUnits(const ir::Shape &a, const ir::Shape &b) {
  const auto withoutUnits = [](const ir::Shape &shape) {
    llvm::SmallVector<std::int64_t, 5> extents;
    llvm::copy_if(shape.extents(), std::back_inserter(extents),
                  [](std::int64_t extent) { return extent != 1; });
    return extents;
  };
  return withoutUnits(a) == withoutUnits(b);
}

std::uint64_t droppedAxes(const ir::Shape &shape) {
  std::uint64_t axes = 0;
  for (std::int32_t axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] == 1) axes |= std::uint64_t{1} << axis;
  return axes;
}

/// Whether an element of the result is at the index of the operands' elements that it is made of.
bool keepsPoint(const ir::Kernel &kernel, const ir::Op &op) {
  if (op.kind == OpKind::Reshape || op.kind == OpKind::Bitcast)
    return differByUnits(kernel.type(op.operand(0)).shape(), kernel.type(op.result()).shape());
  // A reduction that is computed inline is one over a single element.
  return keepsIndices(op) || op.kind == OpKind::Reduce;
}

/// A byte is made of two f4e2m1.
bool packsNibbles(const ir::Kernel &kernel, const ir::Op &op) {
  return op.kind == OpKind::Bitcast &&
         kernel.type(op.operand(0)).element() == ir::ElementKind::F4E2M1 &&
         kernel.type(op.result()).element() != ir::ElementKind::F4E2M1;
}

} // namespace

PulledPoints::Point PulledPoints::intern(const Origin &origin, NestNumber nest) {
  const auto [found, isNew] = interned_.try_emplace(origin, static_cast<Point>(nestOf_.size()));
  if (isNew) nestOf_.push_back(nest);
  return found->second;
}

PulledPoints::Point PulledPoints::pointOf(NestNumber nest) {
  constexpr Point kNone = std::numeric_limits<Point>::max();
  return intern({nullptr, nest, kNone}, nest);
}

PulledPoints::Point PulledPoints::moved(const ir::Op &op, std::uint64_t which, Point from) {
  return intern({&op, which, from}, nestOf_[from]);
}

void PulledPoints::pullInto(NestNumber nest, std::int64_t size, ValueId value) {
  sizes_[nest] = size;
  points_[value].insert(pointOf(nest));
}

void PulledPoints::pullOperandsAt(Point point, const ir::Op &op, ValueId result) {
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ValueId operand = op.operand(i);
    if (!isTile(*kernel_, operand)) continue;
    std::set<Point> &points = points_[operand];
    const bool isIndex = op.kind == OpKind::Gather && i == 1;
    if (isIndex || keepsPoint(*kernel_, op))
      points.insert(point);
    else if (op.kind == OpKind::Broadcast)
      points.insert(
          intern({nullptr, droppedAxes(kernel_->type(operand).shape()), point}, nestOf_[point]));
    else if (op.kind == OpKind::Split)
      points.insert(moved(op, result == op.result(0) ? 0 : 1, point));
    else
      points.insert(moved(op, op.kind == OpKind::Concat ? i : 0, point));
    if (packsNibbles(*kernel_, op)) points.insert(moved(op, 1, point));
  }
}

void PulledPoints::pullOperands(const ir::Op &op, ValueId result) {
  // A copy: the sets of operands may be made on the way.
  const std::set<Point> points = points_[result];
  for (const Point point : points) pullOperandsAt(point, op, result);
}

void PulledPoints::keepIn(NestNumber nest, ValueId value) {
  std::erase_if(points_[value], [&](Point point) { return nestOf_[point] != nest; });
  pullInto(nest, kernel_->type(value).shape().elements(), value);
}

std::map<NestNumber, std::int64_t> PulledPoints::pointsByNest(ValueId value) const {
  std::map<NestNumber, std::int64_t> count;
  if (const auto found = points_.find(value); found != points_.end())
    for (const Point point : found->second) ++count[nestOf_[point]];
  return count;
}

std::int64_t PulledPoints::mostPoints(ValueId value) const {
  std::int64_t most = 0;
  for (const auto &[nest, points] : pointsByNest(value)) most = std::max(most, points);
  return most;
}

std::int64_t PulledPoints::mostPulled(ValueId value) const {
  std::int64_t most = 0;
  for (const auto &[nest, points] : pointsByNest(value))
    most = std::max(most, points * sizes_.at(nest));
  return most;
}

} // namespace imbrex::host
