#include "backend/analysis/algebra.h"
#include "backend/passes/rules/rewriter.h"

#include <algorithm>

namespace imbrex::passes::rules {
namespace {

using namespace ir;

template <OpKind... kinds>
bool isAny(OpKind root) {
  return ((root == kinds) || ...);
}

constexpr auto kMoves =
    isAny<OpKind::Broadcast, OpKind::Reshape, OpKind::Permute, OpKind::Slice, OpKind::Flip>;

/// The scalar that a value repeats, if it is a broadcast of one.
ValueId repeatedScalar(const Rewriter &r, ValueId value) {
  const Op *broadcast = r.definition(value, OpKind::Broadcast);
  return broadcast && r.type(broadcast->operand(0)).rank() == 0 ? broadcast->operand(0) : ValueId{};
}

ValueId moveRepeated(Rewriter &r, const Op &root) {
  const ValueId scalar = repeatedScalar(r, root.operand(0));
  return scalar.valid() ? r.create(OpKind::Broadcast, scalar, r.type(root.result())) : scalar;
}

ValueId moveConstant(Rewriter &r, const Op &root) {
  const auto bits = constantBits(r.kernel(), root.operand(0));
  return bits ? r.constant(r.type(root.result()), *bits) : ValueId{};
}

/// Nothing moves: the shape stays, and with it everything but the order along an axis.
ValueId stayInPlace(Rewriter &r, const Op &root) {
  if (r.type(root.operand(0)) != r.type(root.result())) return {};
  if (root.kind == OpKind::Flip && r.type(root.result()).shape()[root.attrs<AxisAttrs>().axis] != 1)
    return {};
  if (root.kind == OpKind::Permute && !llvm::is_sorted(root.attrs<PermuteAttrs>().order)) return {};
  return root.operand(0);
}

ValueId repeatTwice(Rewriter &r, const Op &root) {
  const Op *inner = r.definition(root.operand(0), OpKind::Broadcast);
  return inner ? r.create(OpKind::Broadcast, inner->operand(0), r.type(root.result())) : ValueId{};
}

ValueId reshapeTwice(Rewriter &r, const Op &root) {
  const Op *inner = r.definition(root.operand(0), OpKind::Reshape);
  return inner ? r.create(OpKind::Reshape, inner->operand(0), r.type(root.result())) : ValueId{};
}

ValueId reshapeScalar(Rewriter &r, const Op &root) {
  if (r.type(root.operand(0)).rank() != 0) return {};
  return r.create(OpKind::Broadcast, root.operand(0), r.type(root.result()));
}

ValueId permuteTwice(Rewriter &r, const Op &root) {
  const Op *inner = r.definition(root.operand(0), OpKind::Permute);
  if (!inner) return {};
  PermuteAttrs combined;
  for (const std::int64_t axis : root.attrs<PermuteAttrs>().order)
    combined.order.push_back(inner->attrs<PermuteAttrs>().order[static_cast<size_t>(axis)]);
  return r.create(OpKind::Permute, inner->operand(0), r.type(root.result()), combined);
}

ValueId permuteAxesOfOne(Rewriter &r, const Op &root) {
  const Shape &shape = r.type(root.operand(0)).shape();
  llvm::SmallVector<std::int64_t, 5> order = root.attrs<PermuteAttrs>().order;
  llvm::erase_if(order,
                 [&](std::int64_t axis) { return shape[static_cast<std::int32_t>(axis)] == 1; });
  if (!llvm::is_sorted(order)) return {};
  return r.create(OpKind::Reshape, root.operand(0), r.type(root.result()));
}

ValueId sliceTwice(Rewriter &r, const Op &root) {
  const Op *inner = r.definition(root.operand(0), OpKind::Slice);
  if (!inner) return {};
  SliceAttrs combined = root.attrs<SliceAttrs>();
  const auto &first = inner->attrs<SliceAttrs>();
  for (size_t axis = 0; axis < combined.offsets.size(); ++axis) {
    combined.offsets[axis] = first.offsets[axis] + first.strides[axis] * combined.offsets[axis];
    combined.strides[axis] *= first.strides[axis];
  }
  return r.create(OpKind::Slice, inner->operand(0), r.type(root.result()), combined);
}

ValueId flipTwice(Rewriter &r, const Op &root) {
  const Op *inner = r.definition(root.operand(0), OpKind::Flip);
  return inner && inner->attributes == root.attributes ? inner->operand(0) : ValueId{};
}

ValueId joinHalves(Rewriter &r, const Op &root) {
  const Op *split = r.definition(root.operand(0), OpKind::Split);
  const bool inOrder =
      split && root.operand(0) == split->result(0) && root.operand(1) == split->result(1);
  return inOrder ? split->operand(0) : ValueId{};
}

ValueId advanceByZero(Rewriter &r, const Op &root) {
  const bool isZero = constantBits(r.kernel(), root.operand(1)) == 0;
  return isZero && r.type(root.operand(0)) == r.type(root.result()) ? root.operand(0) : ValueId{};
}

ValueId reduceOne(Rewriter &r, const Op &root) {
  const auto &attrs = root.attrs<ReduceAttrs>();
  const bool givesIndex = attrs.combine == Combine::ArgMin || attrs.combine == Combine::ArgMax;
  if (givesIndex || r.type(root.operand(0)).shape()[attrs.axis] != 1) return {};
  return r.create(OpKind::Reshape, root.operand(0), r.type(root.result()));
}

/// The one shape that all operands are repeated from, scalars and constants aside; none where an
/// operand is not repeated, or two come from different shapes.
std::optional<Shape> commonSource(const Rewriter &r, const Op &root) {
  std::optional<Shape> source;
  for (const ValueId operand : root.operands) {
    if (constantBits(r.kernel(), operand)) continue;
    const Op *broadcast = r.definition(operand, OpKind::Broadcast);
    if (!broadcast) return std::nullopt;
    const Shape &from = r.type(broadcast->operand(0)).shape();
    if (source && source->rank() != 0 && from.rank() != 0 && *source != from) return std::nullopt;
    if (!source || source->rank() == 0) source = from;
  }
  return source;
}

ValueId computeThenRepeat(Rewriter &r, const Op &root) {
  const std::optional<Shape> source = commonSource(r, root);
  const Type result = r.type(root.result());
  if (!source || source->elements() == result.shape().elements()) return {};
  llvm::SmallVector<ValueId, 3> operands;
  for (const ValueId operand : root.operands) {
    const Type type = r.type(operand).withShape(*source);
    const auto bits = constantBits(r.kernel(), operand);
    if (bits)
      operands.push_back(r.constant(type, *bits));
    else
      operands.push_back(
          r.create(OpKind::Broadcast, r.definition(operand, OpKind::Broadcast)->operand(0), type));
  }
  const ValueId once = r.create(root.kind, operands, result.withShape(*source), root.attributes);
  return r.create(OpKind::Broadcast, once, result);
}

bool isElementwiseOrAlike(OpKind root) {
  return isElementwise(root) || root == OpKind::Cast || root == OpKind::PointerAdd;
}

constexpr auto kShapeRules = std::to_array<ShapeRule>({
    {"a move of a repeated scalar is the scalar repeated", kMoves, moveRepeated},
    {"a move of a constant is the constant", kMoves, moveConstant},
    {"a move that moves nothing is its operand", kMoves, stayInPlace},
    {"what is repeated twice is repeated once, further", isAny<OpKind::Broadcast>, repeatTwice},
    {"the last of two reshapes counts", isAny<OpKind::Reshape>, reshapeTwice},
    {"a reshape of a scalar repeats it", isAny<OpKind::Reshape>, reshapeScalar},
    {"two permutations are one", isAny<OpKind::Permute>, permuteTwice},
    {"a permutation of axes of extent 1 is a reshape", isAny<OpKind::Permute>, permuteAxesOfOne},
    {"a slice of a slice is a slice", isAny<OpKind::Slice>, sliceTwice},
    {"flipped twice is not flipped", isAny<OpKind::Flip>, flipTwice},
    {"the halves of a tile joined are the tile", isAny<OpKind::Join>, joinHalves},
    {"a pointer advanced by 0 is itself", isAny<OpKind::PointerAdd>, advanceByZero},
    {"one element reduced is that element", isAny<OpKind::Reduce>, reduceOne},
    {"what is computed from repeated values is computed once and repeated", isElementwiseOrAlike,
     computeThenRepeat},
});

} // namespace

llvm::ArrayRef<ShapeRule> shape() { return kShapeRules; }

} // namespace imbrex::passes::rules
