#pragma once

#include "backend/ir/kernel.h"

#include <optional>

/// How layouts pass through ops that only move data.
namespace imbrex::passes::layouts {

/// Where the bits of a result's packed coordinates lie in its operand's: the operand's bit of each
/// result bit, or kNone where the result's bit does not matter (a broadcast) or is not the
/// operand's (the other half of a join).
struct Movement {
  static constexpr std::int32_t kNone = -1;
  layout::Sides result, operand;
  llvm::SmallVector<std::int32_t, 16> bits;
};

/// The movement of an operand to a result, of ops by which each bit of coordinates stays one bit;
/// nothing for others.
std::optional<Movement> movementOf(const ir::Kernel &kernel, const ir::Op &op, size_t operand,
                                   size_t result);

/// The layout in which the operand has to be for no element to leave its thread, where the result
/// is wanted in this one. What is only the operand's lies in registers.
layout::LinearLayout operandLayout(const Movement &movement, const layout::LinearLayout &result);
/// The inverse. What is only the result's comes into new registers; nothing where that would be a
/// broadcast, whose copies belong to other threads.
std::optional<layout::LinearLayout> resultLayout(const Movement &movement,
                                                 const layout::LinearLayout &operand);

} // namespace imbrex::passes::layouts
