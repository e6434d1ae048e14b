#include "backend/passes/layouts/movement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

namespace imbrex::passes::layouts {
namespace {

using namespace ir;
using layout::Bits;
using layout::Dim;
using layout::LinearLayout;
using layout::Side;
using layout::Sides;

std::int32_t totalBits(llvm::ArrayRef<Side> sides) {
  std::int32_t bits = 0;
  for (const Side &side : sides) bits += side.bits;
  return bits;
}

/// Where an axis begins in the packed coordinates.
std::int32_t shiftOf(llvm::ArrayRef<Side> sides, size_t axis) {
  return totalBits(sides.drop_front(axis + 1));
}

/// Result axis i is operand axis `axisOf(i)`, as far as that has bits.
template <class AxisOf>
void moveAxes(Movement &movement, AxisOf axisOf) {
  movement.bits.assign(static_cast<size_t>(totalBits(movement.result)), Movement::kNone);
  for (size_t axis = 0; axis < movement.result.size(); ++axis) {
    const size_t from = axisOf(axis);
    for (std::int32_t bit = 0; bit < movement.operand[from].bits; ++bit)
      movement.bits[static_cast<size_t>(shiftOf(movement.result, axis) + bit)] =
          shiftOf(movement.operand, from) + bit;
  }
}

/// Result bit i is the operand's bit i + by.
void shiftBits(Movement &movement, std::int32_t by) {
  for (std::int32_t bit = 0; bit < totalBits(movement.result); ++bit)
    movement.bits.push_back(bit + by < 0 ? Movement::kNone : bit + by);
}

/// Whether row-major indices keep their bits: each axis that counts stays, or none has padding.
bool keepsBits(const Shape &from, const Shape &to) {
  const auto counts = [](std::int64_t extent) { return extent != 1; };
  const auto isWhole = [](std::int64_t extent) {
    return llvm::has_single_bit(static_cast<std::uint64_t>(extent));
  };
  return llvm::equal(llvm::make_filter_range(from.extents(), counts),
                     llvm::make_filter_range(to.extents(), counts)) ||
         (llvm::all_of(from.extents(), isWhole) && llvm::all_of(to.extents(), isWhole));
}

/// A layout of the same threads whose columns are other bits; a register without one is gone.
template <class BitOf>
LinearLayout rebuilt(const LinearLayout &layout, const Sides &outputs, llvm::ArrayRef<Bits> first,
                     BitOf bitOf) {
  llvm::SmallVector<Bits, 16> columns(first.begin(), first.end());
  Sides inputs(layout.inputs().begin(), layout.inputs().end());
  inputs[0].bits = static_cast<std::int32_t>(first.size());
  for (const Side &side : layout.inputs())
    for (const Bits column : layout.columns(side.dim)) {
      const std::int32_t bit = column == 0 ? Movement::kNone : bitOf(llvm::countr_zero(column));
      const bool isRegister = side.dim == Dim::Register;
      if (isRegister && bit == Movement::kNone) continue;
      columns.push_back(bit == Movement::kNone ? 0 : Bits{1} << bit);
      if (isRegister) ++inputs[0].bits;
    }
  return LinearLayout(inputs, outputs, columns);
}

} // namespace

std::optional<Movement> movementOf(const Kernel &kernel, const Op &op, size_t operand,
                                   size_t result) {
  const Type &from = kernel.type(op.operand(operand)), &to = kernel.type(op.result(result));
  if (!from.isTileOrPointers() || from.rank() == 0 || to.rank() == 0) return std::nullopt;
  Movement movement{.result = layout::tileSides(to.shape().extents()),
                    .operand = layout::tileSides(from.shape().extents()),
                    .bits = {}};
  const auto sameAxis = [](size_t axis) { return axis; };
  // Not a switch: of all the ops only these few keep bits apart.
  if (op.kind == OpKind::Broadcast || op.kind == OpKind::Flip)
    moveAxes(movement, sameAxis);
  else if (op.kind == OpKind::Permute)
    moveAxes(movement, [&](size_t axis) {
      return static_cast<size_t>(op.attrs<PermuteAttrs>().order[axis]);
    });
  else if (op.kind == OpKind::Reshape && keepsBits(from.shape(), to.shape()))
    shiftBits(movement, 0);
  else if (op.kind == OpKind::Join)
    shiftBits(movement, -1);
  else if (op.kind == OpKind::Split)
    shiftBits(movement, 1);
  else if (op.kind == OpKind::Bitcast && from.shape() != to.shape())
    shiftBits(movement, from.shape().elements() < to.shape().elements() ? -1 : 1);
  else
    return std::nullopt;
  return movement;
}

LinearLayout operandLayout(const Movement &movement, const LinearLayout &result) {
  llvm::SmallVector<Bits, 2> own; // bits that only the operand has: into registers
  for (std::int32_t bit = 0; bit < totalBits(movement.operand); ++bit)
    if (!llvm::is_contained(movement.bits, bit)) own.push_back(Bits{1} << bit);
  return rebuilt(result, movement.operand, own,
                 [&](std::int32_t bit) { return movement.bits[static_cast<size_t>(bit)]; });
}

std::optional<LinearLayout> resultLayout(const Movement &movement, const LinearLayout &operand) {
  llvm::SmallVector<Bits, 2> own;
  for (size_t bit = 0; bit < movement.bits.size(); ++bit)
    if (movement.bits[bit] == Movement::kNone) own.push_back(Bits{1} << bit);
  if (own.size() > 1) return std::nullopt;
  return rebuilt(operand, movement.result, own, [&](std::int32_t bit) {
    const auto *const found = llvm::find(movement.bits, bit);
    return found == movement.bits.end() ? Movement::kNone
                                        : static_cast<std::int32_t>(found - movement.bits.begin());
  });
}

} // namespace imbrex::passes::layouts
