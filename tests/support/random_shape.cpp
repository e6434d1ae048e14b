#include "tests/support/random_generator.h"

#include <algorithm>
#include <numeric>

namespace imbrex::testing {

using namespace ir;

/// Another shape of as many elements.
Shape Generator::reshaped(const Shape &shape) {
  std::int64_t rest = shape.elements();
  Shape result;
  while (result.rank() < Shape::kMaxRank - 1 && (rest > 1 || chance(20))) {
    std::int64_t factor = number(1, rest);
    while (rest % factor != 0) factor = factor % rest + 1;
    result = result.withAppended(factor);
    rest /= factor;
  }
  return rest > 1 ? result.withAppended(rest) : result;
}

PermuteAttrs Generator::order(std::int32_t rank) {
  PermuteAttrs attrs;
  attrs.order.resize(static_cast<std::size_t>(rank));
  std::iota(attrs.order.begin(), attrs.order.end(), 0);
  for (std::size_t i = attrs.order.size(); i > 1; --i)
    std::swap(attrs.order[i - 1],
              attrs.order[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(i) - 1))]);
  return attrs;
}

void Generator::emitBroadcast() {
  const ValueId from = tile(Domain::Any);
  const Type given = type(from);
  Shape wide = given.shape();
  for (std::int32_t axis = 0; axis < wide.rank(); ++axis)
    if (wide[axis] == 1 && wide.elements() <= 40) wide = wide.withAxis(axis, number(1, 7));
  if (given.rank() == 0) wide = shape();
  keep(value(OpKind::Broadcast, from, given.withShape(wide)));
}

void Generator::emitReshape() {
  const ValueId from = tile(Domain::Any);
  keep(value(OpKind::Reshape, from, type(from).withShape(reshaped(type(from).shape()))));
}

void Generator::emitPermute() {
  const ValueId from = tile(Domain::Any, 1);
  const Type given = type(from);
  const PermuteAttrs attrs = order(given.rank());
  Shape result = given.shape();
  for (std::int32_t axis = 0; axis < given.rank(); ++axis) {
    const auto source = static_cast<std::int32_t>(attrs.order[static_cast<std::size_t>(axis)]);
    result = result.withAxis(axis, given.shape()[source]);
  }
  keep(emit(OpKind::Permute, from, given.withShape(result), attrs).result());
}

void Generator::emitJoin() {
  const ValueId from = tile(Domain::Any, 0, Shape::kMaxRank - 1);
  const Type given = type(from);
  keep(value(OpKind::Join, {from, of(given)}, given.withShape(given.shape().withAppended(2))));
}

void Generator::emitSplit() {
  const auto isPair = [](const Type &type) {
    return type.isTile() && type.rank() > 0 && type.shape()[type.rank() - 1] == 2;
  };
  const auto found = find(isPair);
  const Shape pairs = shape(0, Shape::kMaxRank - 1).withAppended(2);
  const ValueId from = found ? *found : fresh(Type::tile(element(Domain::Any), pairs));
  const Type given = type(from);
  const Type half = given.withShape(given.shape().withoutAxis(given.rank() - 1));
  for (const ValueId result : emit(OpKind::Split, from, {half, half}).results) keep(result);
}

void Generator::emitConcat() {
  const ValueId first = tile(Domain::Any, 1);
  const Type given = type(first);
  const auto axis = static_cast<std::int32_t>(number(0, given.rank() - 1));
  const std::int64_t more = number(1, 5), extent = given.shape()[axis];
  const ValueId second = of(given.withShape(given.shape().withAxis(axis, more)));
  const Type result = given.withShape(given.shape().withAxis(axis, extent + more));
  keep(emit(OpKind::Concat, {first, second}, result, AxisAttrs{axis}).result());
}

void Generator::emitSlice() {
  const ValueId from = tile(Domain::Any, 1);
  const Type given = type(from);
  SliceAttrs attrs;
  Shape result = given.shape();
  for (std::int32_t axis = 0; axis < given.rank(); ++axis) {
    const std::int64_t extent = given.shape()[axis];
    const std::int64_t offset = number(0, extent - 1), stride = number(1, 3);
    attrs.offsets.push_back(offset);
    attrs.strides.push_back(stride);
    result = result.withAxis(axis, number(1, (extent - 1 - offset) / stride + 1));
  }
  keep(emit(OpKind::Slice, from, given.withShape(result), attrs).result());
}

void Generator::emitFlip() {
  const ValueId from = tile(Domain::Any, 1);
  const AxisAttrs attrs{static_cast<std::int32_t>(number(0, type(from).rank() - 1))};
  keep(emit(OpKind::Flip, from, type(from), attrs).result());
}

} // namespace imbrex::testing
