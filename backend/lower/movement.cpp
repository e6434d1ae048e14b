#include "backend/lower/movement.h"

#include "backend/support/check.h"
#include "llvm/ADT/bit.h"

namespace imbrex::lower {
namespace {

using ir::OpKind;
using layout::Bits;
using layout::Dim;

bool isPowerOfTwo(std::int64_t extent) {
  return llvm::has_single_bit(static_cast<std::uint64_t>(extent));
}

/// Where the bits of each axis begin in the packed coordinates.
llvm::SmallVector<std::int32_t, 5> shiftsOf(const ir::Shape &shape) {
  llvm::SmallVector<std::int32_t, 5> shifts(static_cast<std::size_t>(shape.rank()));
  std::int32_t shift = 0;
  for (std::int32_t axis = shape.rank(); axis-- > 0;) {
    shifts[static_cast<std::size_t>(axis)] = shift;
    shift += layout::bitsFor(shape[axis]);
  }
  return shifts;
}

std::int32_t bitsOf(const ir::Shape &shape) {
  std::int32_t bits = 0;
  for (const std::int64_t extent : shape.extents()) bits += layout::bitsFor(extent);
  return bits;
}

AffineMove identity(std::int32_t bits) {
  AffineMove move;
  for (std::int32_t bit = 0; bit < bits; ++bit) move.columns.push_back(Bits{1} << bit);
  return move;
}

/// Of a scalar.
AffineMove repeated(std::int32_t bits) {
  AffineMove move;
  move.columns.assign(static_cast<std::size_t>(bits), 0);
  return move;
}

/// Axis i of the result is axis `sourceAxis(i)` of the source; extents of 1 there have no bits.
template <class SourceAxis>
AffineMove axesMove(const ir::Shape &source, const ir::Shape &result, SourceAxis sourceAxis) {
  const auto from = shiftsOf(source), to = shiftsOf(result);
  AffineMove move;
  move.columns.assign(static_cast<std::size_t>(bitsOf(result)), 0);
  for (std::int32_t axis = 0; axis < result.rank(); ++axis) {
    const std::int32_t there = sourceAxis(axis);
    for (std::int32_t bit = 0; bit < layout::bitsFor(source[there]); ++bit)
      move.columns[static_cast<std::size_t>(to[static_cast<std::size_t>(axis)] + bit)] =
          Bits{1} << (from[static_cast<std::size_t>(there)] + bit);
  }
  return move;
}

/// A row-major index has its bits side by side where all extents but the first of a group of axes
/// are powers of two; a group is as short as can be with equally many elements on both sides.
bool keepsPackedBits(const ir::Shape &from, const ir::Shape &to) {
  std::int32_t i = from.rank(), j = to.rank();
  while (i > 0 || j > 0) {
    std::int64_t a = 1, b = 1;
    bool areLaterPowers = true; // of the group's extents but the leading ones
    std::int64_t leadingA = 1, leadingB = 1;
    do {
      const bool takesA = j == 0 || (i > 0 && a <= b);
      std::int64_t &leading = takesA ? leadingA : leadingB;
      areLaterPowers &= isPowerOfTwo(leading);
      leading = takesA ? from[--i] : to[--j];
      (takesA ? a : b) *= leading;
    } while (a != b);
    if (!areLaterPowers) return false;
  }
  return true;
}

} // namespace

std::optional<AffineMove> affineMove(const ir::Kernel &kernel, const ir::Op &op,
                                     std::size_t result) {
  const ir::Shape &from = kernel.type(op.operand(0)).shape();
  const ir::Shape &to = kernel.type(op.result(result)).shape();
  if (op.kind == OpKind::ConvertLayout) return identity(bitsOf(to));
  if (op.kind == OpKind::Broadcast && from.rank() == 0) return repeated(bitsOf(to));
  if (op.kind == OpKind::Broadcast)
    return axesMove(from, to, [](std::int32_t axis) { return axis; });
  if (op.kind == OpKind::Permute)
    return axesMove(from, to, [&](std::int32_t axis) {
      return static_cast<std::int32_t>(
          op.attrs<ir::PermuteAttrs>().order[static_cast<std::size_t>(axis)]);
    });
  if (op.kind == OpKind::Reshape) {
    if (!keepsPackedBits(from, to)) return std::nullopt;
    return identity(bitsOf(to));
  }
  if (op.kind == OpKind::Split) {
    AffineMove move = identity(bitsOf(to));
    for (Bits &column : move.columns) column <<= 1;
    move.constant = result;
    return move;
  }
  if (op.kind == OpKind::Flip) {
    const std::int32_t axis = op.attrs<ir::AxisAttrs>().axis;
    if (!isPowerOfTwo(to[axis])) return std::nullopt;
    AffineMove move = identity(bitsOf(to));
    move.constant = static_cast<Bits>(to[axis] - 1) << shiftsOf(to)[static_cast<std::size_t>(axis)];
    return move;
  }
  return std::nullopt;
}

layout::LinearLayout wantedLayout(const AffineMove &move, const layout::LinearLayout &result,
                                  const layout::LinearLayout &source) {
  llvm::SmallVector<Bits, 16> columns;
  for (Bits coordinates : result.columns()) {
    Bits &wanted = columns.emplace_back(0);
    for (const Bits column : move.columns) {
      if ((coordinates & 1) != 0) wanted ^= column;
      coordinates >>= 1;
    }
  }
  return layout::LinearLayout(layout::Sides(result.inputs().begin(), result.inputs().end()),
                              layout::Sides(source.outputs().begin(), source.outputs().end()),
                              columns);
}

} // namespace imbrex::lower
