#include "backend/ir/shared_tiles.h"

#include "backend/layout/matrix.h"
#include "backend/layout/tile_layout.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::ir {
namespace {

llvm::SmallVector<std::int64_t, 5> withoutUnits(const Shape &shape) {
  llvm::SmallVector<std::int64_t, 5> extents(shape.extents());
  llvm::erase(extents, 1);
  return extents;
}

/// Packed coordinates of the operand in the result's packing.
layout::Bits permuted(const layout::LinearLayout &from, const layout::LinearLayout &to,
                      const PermuteAttrs &attrs, layout::Bits packed) {
  layout::Bits result = 0;
  for (std::size_t axis = 0; axis < attrs.order.size(); ++axis) {
    const auto source = layout::axisDim(static_cast<std::int32_t>(attrs.order[axis]));
    result |= from.outputPart(packed, source)
              << to.outputShift(layout::axisDim(static_cast<std::int32_t>(axis)));
  }
  return result;
}

} // namespace

layout::LinearLayout inRows(const Shape &shape) {
  layout::Sides sides = layout::tileSides(shape.extents());
  const std::int32_t bits = layout::LinearLayout({}, sides, {}).outputBits();
  return {{{layout::Dim::Offset, bits}}, std::move(sides), layout::unitVectors(bits)};
}

bool keepsBits(const Shape &from, const Shape &to) {
  return (from.hasPowersOfTwo() && to.hasPowersOfTwo()) || withoutUnits(from) == withoutUnits(to);
}

layout::LinearLayout relabelled(const Kernel &kernel, const Op &op) {
  const layout::LinearLayout &from = kernel.layout(kernel.layoutOf(op.operand(0)));
  const layout::Sides sides = layout::tileSides(kernel.type(op.result()).shape().extents());
  layout::Vectors columns(from.columns(layout::Dim::Offset));
  if (op.kind == OpKind::Permute) {
    const layout::LinearLayout to({}, sides, {});
    for (layout::Bits &column : columns)
      column = permuted(from, to, op.attrs<PermuteAttrs>(), column);
  }
  return {layout::Sides(from.inputs()), sides, columns};
}

bool readsShared(const Kernel &kernel, const Op &op) {
  if (op.kind == OpKind::Permute || op.kind == OpKind::Reshape) return false;
  return llvm::any_of(op.operands,
                      [&](ValueId operand) { return kernel.type(operand).isShared(); });
}

const Op &slotOf(const Kernel &kernel, ValueId shared) {
  const Op *op = kernel.definition(shared);
  while (op->kind != OpKind::RingSlot) op = kernel.definition(op->operand(0));
  return *op;
}

} // namespace imbrex::ir
