#pragma once

#include "backend/ir/kernel.h"
#include "backend/layout/tile_layout.h"

#include <optional>

/// Ops that only move elements: where each element of a result comes from, and how layouts pass
/// through them.
namespace imbrex::analysis {

/// A move by which each bit of the packed coordinates stays one bit. All moves of tiles whose
/// extents are powers of two are of this form, and many others.
struct Movement {
  static constexpr std::int32_t kNone = -1;
  layout::Sides result, operand;
  /// The operand's bit of each of the result's, or kNone where that does not matter (a broadcast)
  /// or says which operand it is (a join).
  llvm::SmallVector<std::int32_t, 16> bits = {};
  /// Added (xor) to the operand's coordinates: which half a split takes, the last element of a
  /// flipped axis. None for a flip of padded extents, which is no xor.
  std::optional<layout::Bits> offset = 0;
};

/// How an op moves an operand to a result; nothing for ops that compute, and for moves that mix
/// bits. A bitcast between bytes and pairs of f4e2m1 moves the byte to both its halves.
std::optional<Movement> movementOf(const ir::Kernel &kernel, const ir::Op &op, size_t operand,
                                   size_t result);

/// The operand's coordinates, without the offset, that each place of a result's layout wants.
layout::LinearLayout wantedLayout(const Movement &movement, const layout::LinearLayout &result);

/// The layout in which the operand has to be for no element to leave its thread, where the result
/// is in this one. What is only the operand's lies in registers.
layout::LinearLayout operandLayout(const Movement &movement, const layout::LinearLayout &result);
/// The inverse. What is only the result's comes into new registers; nothing where that would be a
/// broadcast, whose copies belong to other threads.
std::optional<layout::LinearLayout> resultLayout(const Movement &movement,
                                                 const layout::LinearLayout &operand);

} // namespace imbrex::analysis
