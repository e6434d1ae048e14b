#include "backend/analysis/movement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

namespace imbrex::analysis {
namespace {

using namespace ir;
using layout::Bits;
using layout::Dim;
using layout::LinearLayout;
using layout::Side;
using layout::Sides;

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

/// One of two neighbours on the operand's last axis.
void takeHalf(Movement &movement, size_t which) {
  shiftBits(movement, 1);
  movement.offset = which;
}

bool isPowerOfTwo(std::int64_t extent) {
  return llvm::has_single_bit(static_cast<std::uint64_t>(extent));
}

/// Whether a reshape keeps packed coordinates. A row-major index has its bits side by side where
/// all extents but the first of a group of axes are powers of two; a group is as short as can be
/// with equally many elements on both sides.
bool keepsBits(const Shape &from, const Shape &to) {
  std::int32_t i = from.rank(), j = to.rank();
  while (i > 0 || j > 0) {
    std::int64_t fromElements = 1, toElements = 1;
    std::int64_t fromFirst = 1, toFirst = 1; // extents
    bool areOthersPowers = true;
    do {
      const bool takesFrom = j == 0 || (i > 0 && fromElements <= toElements);
      std::int64_t &first = takesFrom ? fromFirst : toFirst;
      areOthersPowers &= isPowerOfTwo(first);
      first = takesFrom ? from[--i] : to[--j];
      (takesFrom ? fromElements : toElements) *= first;
    } while (fromElements != toElements);
    if (!areOthersPowers) return false;
  }
  return true;
}

/// Each element from the other end of an axis.
void flipAxis(Movement &movement, const Shape &shape, std::int32_t axis) {
  moveAxes(movement, [](size_t same) { return same; });
  if (isPowerOfTwo(shape[axis]))
    movement.offset = static_cast<Bits>(shape[axis] - 1)
                      << shiftOf(movement.operand, static_cast<size_t>(axis));
  else
    movement.offset = std::nullopt;
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
  const Shape &from = kernel.type(op.operand(operand)).shape();
  const Shape &to = kernel.type(op.result(result)).shape();
  Movement movement{.result = layout::tileSides(to.extents()),
                    .operand = layout::tileSides(from.extents())};
  const auto sameAxis = [](size_t axis) { return axis; };
  // Not a switch: of all the ops only these few keep bits apart.
  if (op.kind == OpKind::Broadcast && from.rank() == 0)
    movement.bits.assign(static_cast<size_t>(totalBits(movement.result)), Movement::kNone);
  else if (op.kind == OpKind::Broadcast || op.kind == OpKind::ConvertLayout)
    moveAxes(movement, sameAxis);
  else if (op.kind == OpKind::Permute)
    moveAxes(movement, [&](size_t axis) {
      return static_cast<size_t>(op.attrs<PermuteAttrs>().order[axis]);
    });
  else if (op.kind == OpKind::Flip)
    flipAxis(movement, to, op.attrs<AxisAttrs>().axis);
  else if (op.kind == OpKind::Reshape && keepsBits(from, to))
    shiftBits(movement, 0);
  else if (op.kind == OpKind::Join)
    shiftBits(movement, -1);
  else if (op.kind == OpKind::Split)
    takeHalf(movement, result);
  else if (op.kind == OpKind::Bitcast && from != to)
    shiftBits(movement, from.elements() < to.elements() ? -1 : 1);
  else
    return std::nullopt;
  return movement;
}

LinearLayout wantedLayout(const Movement &movement, const LinearLayout &result) {
  llvm::SmallVector<Bits, 16> columns;
  for (const Bits coordinates : result.columns()) {
    Bits &wanted = columns.emplace_back(0);
    for (size_t bit = 0; bit < movement.bits.size(); ++bit)
      if ((coordinates >> bit & 1) != 0 && movement.bits[bit] != Movement::kNone)
        wanted ^= Bits{1} << movement.bits[bit];
  }
  return LinearLayout(Sides(result.inputs().begin(), result.inputs().end()), movement.operand,
                      columns);
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

} // namespace imbrex::analysis
