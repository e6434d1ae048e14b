#include "backend/passes/expand/expand_products.h"

#include "backend/passes/expand/expansion.h"

namespace imbrex::passes {
namespace {

using namespace ir;
using expand::Recorder;

constexpr std::int64_t kElementsPerScale = 32; // along k

/// Each scale as often as it counts: from [.., k / 32] to the shape of the operand, [.., k].
ValueId spread(Builder &build, ValueId scale, const Shape &shape) {
  const std::int64_t scales = build.kernel().type(scale).shape().elements();
  const ValueId numbers = build.cast(scale, ElementKind::F64);
  const ValueId column = build.reshape(numbers, Shape{scales, 1});
  const ValueId rows = build.broadcast(column, Shape{scales, kElementsPerScale});
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

llvm::SmallVector<ValueId, 4> scaledProduct(Recorder &recorder, const Op &op) {
  if (op.kind != OpKind::DotScaled) return {};
  const auto &attrs = op.attrs<DotScaledAttrs>();
  Builder build = recorder.builder();
  // An element times its scale is exact in f64, and leaves the range of f32.
  ValueId a = build.cast(op.operand(0), ElementKind::F64);
  ValueId b = build.cast(op.operand(1), ElementKind::F64);
  const ValueId c = build.cast(op.operand(2), ElementKind::F64);
  if (attrs.scaleA) {
    const ValueId scale = spread(build, op.operand(3), recorder.kernel().type(a).shape());
    a = build.elementwise(OpKind::Mul, {a, scale});
  }
  if (attrs.scaleB) {
    // The scales of b lie along k, as those of a do: [.., n, k / 32].
    const Shape across = transposed(recorder.kernel().type(b).shape());
    const ValueId scale = spread(build, op.operands.back(), across);
    b = build.elementwise(OpKind::Mul, {b, transpose(build, scale)});
  }
  const Type result = recorder.kernel().type(op.result());
  const Type wide = result.withElement(ElementKind::F64);
  return {build.cast(build.create(OpKind::Dot, {a, b, c}, wide).result(), result.element())};
}

} // namespace

void expandProducts(Kernel &kernel, const PassContext &) {
  expand::Expander(kernel, scaledProduct).expandIn(kernel.body());
}

} // namespace imbrex::passes
