#include "backend/passes/expand/scaled_operand.h"

#include <utility>

namespace imbrex::passes::expand {
namespace {

using namespace ir;

/// Each scale as often as it counts: from [.., k / 32] or [.., k / 16] to the operand's, [.., k].
ValueId spread(Builder &build, ValueId scale, const Shape &shape, ElementKind element) {
  const Type of = build.kernel().type(scale);
  const std::int64_t scales = of.shape().elements();
  ValueId numbers = build.cast(scale, element);
  if (of.element() != ElementKind::E8M0) // which has no sign
    numbers = build.elementwise(OpKind::Abs, {numbers});
  const ValueId column = build.reshape(numbers, Shape{scales, 1});
  const ValueId rows = build.broadcast(column, Shape{scales, elementsPerScale(of.element())});
  return build.reshape(rows, shape);
}

/// The last two axes exchanged.
Shape transposed(const Shape &shape) {
  const std::int32_t last = shape.rank() - 1;
  return shape.withAxis(last, shape[last - 1]).withAxis(last - 1, shape[last]);
}

ValueId transpose(Builder &build, ValueId value) {
  const Type type = build.kernel().type(value);
  PermuteAttrs attrs;
  for (std::int64_t axis = 0; axis < type.rank(); ++axis) attrs.order.push_back(axis);
  std::swap(attrs.order.back(), attrs.order[attrs.order.size() - 2]);
  const Type result = type.withShape(transposed(type.shape()));
  return build.create(OpKind::Permute, value, result, attrs).result();
}

/// Between bytes and pairs of f4e2m1 along the last axis.
ValueId repacked(Builder &build, ValueId value, ElementKind to) {
  const Type &type = build.kernel().type(value);
  const std::int32_t last = type.rank() - 1;
  const std::int64_t own = type.shape()[last];
  const Shape shape = type.shape().withAxis(last, to == ElementKind::U8 ? own / 2 : 2 * own);
  return build.create(OpKind::Bitcast, value, Type::tile(to, shape)).result();
}

/// `change` of an operand with k along the last axis.
template <class Change>
ValueId alongDepth(Builder &build, ValueId value, std::size_t operand, const Change &change) {
  if (operand == 0) return change(value);
  return transpose(build, change(transpose(build, value)));
}

ValueId unpacked(Builder &build, const Op &product, std::size_t operand) {
  const ValueId value = product.operand(operand);
  if (depthOfElement(build.kernel(), product, operand) == 1) return value;
  return alongDepth(build, value, operand,
                    [&](ValueId bytes) { return repacked(build, bytes, ElementKind::F4E2M1); });
}

/// As another element. Pairs of f4e2m1 are taken apart along the axis that they have in memory: of
/// one that was transposed, before that.
ValueId castOperand(Builder &build, ValueId value, std::size_t operand, ElementKind to) {
  const Op *made = build.kernel().definition(value);
  const bool isTransposed = operand == 1 && made && made->kind == OpKind::Permute;
  if (!isTransposed || build.kernel().type(value).element() != ElementKind::F4E2M1)
    return build.cast(value, to);
  return alongDepth(build, value, operand, [&](ValueId own) { return build.cast(own, to); });
}

} // namespace

ValueId scaledOperand(Builder &build, const Op &product, std::size_t operand, ElementKind to) {
  const ValueId own = unpacked(build, product, operand);
  const auto scale = scaleOf(product, operand);
  if (!scale) return castOperand(build, own, operand, to);
  const ElementKind wide = to == ElementKind::F64 ? to : ElementKind::F32;
  const ValueId numbers = castOperand(build, own, operand, wide);
  const Shape &shape = build.kernel().type(numbers).shape();
  // The scales of b lie along k, as those of a do.
  const ValueId factors =
      operand == 0
          ? spread(build, product.operand(*scale), shape, wide)
          : transpose(build, spread(build, product.operand(*scale), transposed(shape), wide));
  const ValueId scaled = build.elementwise(OpKind::Mul, {numbers, factors});
  return wide == to ? scaled : build.cast(scaled, to);
}

ValueId packedOperand(Builder &build, const Op &product, std::size_t operand) {
  return alongDepth(build, product.operand(operand), operand,
                    [&](ValueId nibbles) { return repacked(build, nibbles, ElementKind::U8); });
}

} // namespace imbrex::passes::expand
