#include "backend/passes/expand/split_products.h"

#include "backend/ir/products.h"
#include "backend/passes/expand/expansion.h"
#include "backend/passes/units/choose_units.h"
#include "llvm/ADT/bit.h"

#include <limits>
#include <utility>
#include <vector>

namespace imbrex::passes {
namespace {

using namespace ir;
using expand::ExpansionRecorder;

/// An operand as a sum of two tiles that have few bits.
struct Parts {
  ValueId big;
  ValueId finite; ///< `big` with zeros for what is not finite,
  ValueId small;  ///< and what it leaves of the operand; there zeros, too.
};

ValueId isBelow(Builder &build, ValueId x, double limit) {
  const ValueId magnitude = build.elementwise(OpKind::Abs, {x});
  const ValueId bound = build.floating(build.kernel().type(x), limit);
  return build.elementwise(OpKind::Lt, {magnitude, bound}); // of NaN false
}

ValueId where(Builder &build, ValueId condition, ValueId x) {
  const ValueId zero = build.constantBits(build.kernel().type(x), 0);
  return build.elementwise(OpKind::Select, {condition, x, zero});
}

/// The nearest tf32, half away from zero: the magnitude's bits rounded at bit 13. The unit cuts the
/// small part off itself. What would be rounded to an infinity stays as it is.
Parts partsOfTf32(Builder &build, ValueId x) {
  constexpr std::int64_t kHalf = 0x1000, kKept = 0xffffe000;
  constexpr double kLimit = 0x1.ffep127; // half way from the largest tf32 to the next
  const ValueId bits = build.bitcast(x, ElementKind::U32);
  const Type words = build.kernel().type(bits);
  const ValueId sum = build.elementwise(OpKind::Add, {bits, build.integer(words, kHalf)});
  const ValueId kept = build.elementwise(OpKind::And, {sum, build.integer(words, kKept)});
  const ValueId rounded = build.bitcast(kept, ElementKind::F32);
  const ValueId isFinite = isBelow(build, x, kLimit);
  return {.big = build.elementwise(OpKind::Select, {isFinite, rounded, x}),
          .finite = where(build, isFinite, rounded),
          .small = where(build, isFinite, build.elementwise(OpKind::Sub, {x, rounded}))};
}

Parts partsOfBf16(Builder &build, ValueId x) {
  const ValueId big = build.cast(x, ElementKind::BF16);
  const ValueId wide = build.cast(big, ElementKind::F32);
  const ValueId isFinite = isBelow(build, wide, std::numeric_limits<double>::infinity());
  const ValueId rest = where(build, isFinite, build.elementwise(OpKind::Sub, {x, wide}));
  // The upper half of its bits: nothing is left to round.
  const ValueId bits = build.bitcast(where(build, isFinite, wide), ElementKind::U32);
  const ValueId sixteen = build.integer(build.kernel().type(bits), 16);
  const ValueId half =
      build.cast(build.elementwise(OpKind::Shr, {bits, sixteen}), ElementKind::U16);
  return {.big = big,
          .finite = build.bitcast(half, ElementKind::BF16),
          .small = build.cast(rest, ElementKind::BF16)};
}

/// Both halves of a tile along an axis.
std::pair<ValueId, ValueId> halves(Builder &build, ValueId tile, std::int32_t axis) {
  const Type type = build.kernel().type(tile);
  const Shape shape = type.shape();
  llvm::SmallVector<std::int64_t, 5> extents;
  PermuteAttrs last; // the axis that counts halves comes last
  for (std::int32_t i = 0; i < shape.rank(); ++i) {
    if (i == axis) extents.push_back(2);
    extents.push_back(i == axis ? shape[i] / 2 : shape[i]);
  }
  for (std::int64_t i = 0; i <= shape.rank(); ++i)
    if (i != axis) last.order.push_back(i);
  last.order.push_back(axis);
  const ValueId apart = build.reshape(tile, Shape(extents));
  llvm::SmallVector<std::int64_t, 5> moved;
  for (const std::int64_t from : last.order)
    moved.push_back(extents[static_cast<std::size_t>(from)]);
  const ValueId side =
      build.create(OpKind::Permute, apart, type.withShape(Shape(moved)), last).result();
  moved.pop_back();
  const Type half = type.withShape(Shape(moved));
  const Op &split = build.create(OpKind::Split, side, {half, half});
  return {split.result(0), split.result(1)};
}

/// A tile in pieces of so many along an axis; one piece where that does not cut it evenly, or where
/// the tile has no axis left to count halves by.
std::vector<ValueId> piecesOf(Builder &build, ValueId tile, std::int32_t axis, std::int64_t each) {
  const Shape shape = build.kernel().type(tile).shape();
  const bool isEven = llvm::has_single_bit(static_cast<std::uint64_t>(shape[axis]));
  if (!isEven || shape[axis] <= each || shape.rank() == Shape::kMaxRank) return {tile};
  const auto [low, high] = halves(build, tile, axis);
  std::vector<ValueId> pieces = piecesOf(build, low, axis, each);
  for (const ValueId piece : piecesOf(build, high, axis, each)) pieces.push_back(piece);
  return pieces;
}

ValueId plainDot(Builder &build, ValueId a, ValueId b, ValueId c, Precision precision) {
  DotAttrs attrs;
  attrs.precision = precision;
  return build.create(OpKind::Dot, {a, b, c}, build.kernel().type(c), attrs).result();
}

/// How the parts of a product are multiplied.
struct Way {
  Parts (*split)(Builder &, ValueId);
  Precision precision;
  std::int64_t depth; ///< Of k at a time.
};

ValueId inParts(Builder &build, const Op &dot, const Way &way) {
  const Kernel &kernel = build.kernel();
  const auto as = piecesOf(build, dot.operand(0), depthAxis(kernel, dot, 0), way.depth),
             bs = piecesOf(build, dot.operand(1), depthAxis(kernel, dot, 1), way.depth);
  ValueId sum = dot.operand(2);
  for (std::size_t i = 0; i < as.size(); ++i) {
    const Parts a = way.split(build, as[i]), b = way.split(build, bs[i]);
    sum = plainDot(build, a.small, b.finite, sum, way.precision);
    sum = plainDot(build, a.finite, b.small, sum, way.precision);
    sum = plainDot(build, a.big, b.big, sum, way.precision);
  }
  return sum;
}

class ProductSplitter {
public:
  explicit ProductSplitter(const machine::Machine &machine) : machine_(&machine) {}

  llvm::SmallVector<ValueId, 4> operator()(ExpansionRecorder &recorder, const Op &op) const {
    if (op.kind != OpKind::Dot || isOnUnit(op)) return {};
    Builder build = recorder.builder();
    const auto asF32 = [&]() -> llvm::SmallVector<ValueId, 4> {
      return {plainDot(build, op.operand(0), op.operand(1), op.operand(2), Precision::Ieee)};
    };
    const auto unitOf = [&](ElementKind element, Precision precision) {
      return unitFor(recorder.kernel(), op, {element, precision}, *machine_);
    };
    const bool hasF32 = unitOf(ElementKind::F32, Precision::Ieee) != nullptr;
    const auto *const tf32 = unitOf(ElementKind::F32, Precision::Tf32);
    const auto *const bf16 = unitOf(ElementKind::BF16, Precision::Ieee);
    switch (op.attrs<DotAttrs>().precision) {
    case Precision::Ieee: return {};
    case Precision::Tf32:
      if (tf32 || !hasF32) return {};
      return asF32();
    case Precision::Tf32x3:
      if (hasF32 || !tf32) return asF32();
      return {inParts(build, op, {partsOfTf32, Precision::Tf32, tf32->k})};
    case Precision::Bf16x3:
      if (hasF32 || !bf16 || !roundsToBf16()) return asF32();
      return {inParts(build, op, {partsOfBf16, Precision::Ieee, bf16->k})};
    }
    return {};
  }

private:
  /// Without an instruction for it, splitting takes longer than multiply-adds of f32.
  bool roundsToBf16() const { return machine::hasBf16Op(*machine_, "cast"); }

  const machine::Machine *machine_;
};

} // namespace

void splitProducts(Kernel &kernel, const PassContext &context) {
  expand::Expander(kernel, ProductSplitter(context.machine)).expandIn(kernel.body());
}

} // namespace imbrex::passes
