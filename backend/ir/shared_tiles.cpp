#include "backend/ir/shared_tiles.h"

#include "backend/layout/algebra.h"
#include "backend/layout/tile_layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace imbrex::ir {
namespace {

using layout::Bits;
using layout::LinearLayout;

llvm::SmallVector<std::int64_t, 5> withoutUnits(const Shape &shape) {
  llvm::SmallVector<std::int64_t, 5> extents(shape.extents());
  llvm::erase(extents, 1);
  return extents;
}

bool keepsBits(const Shape &from, const Shape &to) {
  return (from.hasPowersOfTwo() && to.hasPowersOfTwo()) || withoutUnits(from) == withoutUnits(to);
}

/// The bits of an axis that a slice counts, as a mask.
Bits countedBits(std::int64_t extent, std::int64_t stride) {
  return ((Bits{1} << layout::bitsFor(extent)) - 1) * static_cast<Bits>(stride);
}

/// Whether the coordinates of what a slice takes are those of the result, shifted, and other bits
/// that are the same in all.
bool isOfBits(const SliceAttrs &slice, const Shape &to) {
  for (std::int32_t axis = 0; axis < to.rank(); ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (!llvm::isPowerOf2_64(static_cast<std::uint64_t>(slice.strides[i]))) return false;
    const Bits counted = countedBits(to[axis], slice.strides[i]);
    if ((static_cast<Bits>(slice.offsets[i]) & counted) != 0) return false;
  }
  return true;
}

/// From the packed coordinates of one shape to those of another, by the columns.
LinearLayout betweenCoordinates(const Shape &to, const Shape &from, llvm::ArrayRef<Bits> columns) {
  layout::Sides inputs = layout::tileSides(to.extents());
  std::reverse(inputs.begin(), inputs.end()); // a layout packs its inputs with the first one lowest
  return {std::move(inputs), layout::tileSides(from.extents()), columns};
}

/// Of an axis: the operand's, and what of its coordinate the result's 0 and 1 are.
struct AxisSource {
  std::int64_t axis, offset = 0, stride = 1;
};
template <class SourceOf>
Renaming byAxes(const Shape &to, const Shape &from, SourceOf sourceOf) {
  const LinearLayout like({}, layout::tileSides(from.extents()), {});
  layout::Vectors columns;
  Bits first = 0;
  for (std::int32_t axis = to.rank(); axis-- > 0;) {
    const AxisSource source = sourceOf(static_cast<std::size_t>(axis));
    const std::int32_t shift =
        like.outputShift(layout::axisDim(static_cast<std::int32_t>(source.axis)));
    first |= static_cast<Bits>(source.offset) << shift;
    for (std::int32_t bit = 0; bit < layout::bitsFor(to[axis]); ++bit)
      columns.push_back(static_cast<Bits>(source.stride) << (shift + bit));
  }
  return {betweenCoordinates(to, from, columns), first};
}

Renaming unchanged(const Shape &to, const Shape &from) {
  const std::int32_t bits = LinearLayout({}, layout::tileSides(from.extents()), {}).outputBits();
  return {betweenCoordinates(to, from, layout::unitVectors(bits))};
}

} // namespace

LinearLayout inRows(const Shape &shape) {
  layout::Sides sides = layout::tileSides(shape.extents());
  const std::int32_t bits = LinearLayout({}, sides, {}).outputBits();
  return {{{layout::Dim::Offset, bits}}, std::move(sides), layout::unitVectors(bits)};
}

LinearLayout Renaming::of(const LinearLayout &places) const { return compose(coordinates, places); }

std::optional<Renaming> renaming(const Kernel &kernel, const Op &op) {
  // Not a switch: of all the ops only these few may name elements anew.
  if (op.kind != OpKind::Permute && op.kind != OpKind::Reshape && op.kind != OpKind::Slice)
    return std::nullopt;
  const Shape &from = kernel.type(op.operand(0)).shape(), &to = kernel.type(op.result()).shape();
  if (op.kind == OpKind::Permute)
    return byAxes(to, from, [&](std::size_t axis) {
      return AxisSource{.axis = op.attrs<PermuteAttrs>().order[axis]};
    });
  if (op.kind == OpKind::Reshape) {
    if (!keepsBits(from, to)) return std::nullopt;
    return unchanged(to, from);
  }
  const auto &slice = op.attrs<SliceAttrs>();
  if (!isOfBits(slice, to)) return std::nullopt;
  return byAxes(to, from, [&](std::size_t axis) {
    return AxisSource{.axis = static_cast<std::int64_t>(axis),
                      .offset = slice.offsets[axis],
                      .stride = slice.strides[axis]};
  });
}

bool readsShared(const Kernel &kernel, const Op &op) {
  const auto isShared = [&](ValueId value) { return kernel.type(value).isShared(); };
  return llvm::any_of(op.operands, isShared) && llvm::none_of(op.results, isShared);
}

const Op &slotOf(const Kernel &kernel, ValueId shared) {
  const Op *op = kernel.definition(shared);
  while (op->kind != OpKind::RingSlot) op = kernel.definition(op->operand(0));
  return *op;
}

Renaming inSlot(const Kernel &kernel, ValueId shared) {
  const Shape &shape = kernel.type(shared).shape();
  Renaming all = unchanged(shape, shape);
  for (const Op *op = kernel.definition(shared); op->kind != OpKind::RingSlot;
       op = kernel.definition(op->operand(0))) {
    const Renaming one = *renaming(kernel, *op);
    all = {.coordinates = one.of(all.coordinates),
           .first = one.coordinates.apply(all.first) ^ one.first};
  }
  return all;
}

const LinearLayout &slotLayout(const Kernel &kernel, ValueId shared) {
  return kernel.layout(kernel.layoutOf(slotOf(kernel, shared).result()));
}

} // namespace imbrex::ir
