#pragma once

#include "backend/layout/shared_conversion.h"

#include <optional>

/// How a tile lies in a slot of shared memory into which it is copied from global memory by the
/// threads, and from which they read it in another layout.
namespace imbrex::layout {

/// From the offset, in elements, to coordinates. The vectors of the copies adjoin and are aligned
/// in the slot, as they are in global memory, for a copy passes no registers that could bring them
/// into another order. Of the conversions from one layout to the other that keep them together
/// (shared_conversion.h), it is the one with the fewest bank conflicts; where none does, vector
/// follows vector.
LinearLayout planSlot(const LinearLayout &write, const RegisterVectors &copies,
                      const LinearLayout &read, std::int32_t elementBytes,
                      const SharedMemoryModel &memory);

/// The same where a copy of a warp leaves what its lanes bring side by side, in their order: the
/// elements of a vector, then the lanes' vectors, then the rest. No two lanes have one element.
LinearLayout planSlotInLaneOrder(const LinearLayout &write, const RegisterVectors &copies);

/// The same where the lanes need not bring what they hold in `write`: swizzled, so that reading has
/// no bank conflicts, by exchanging what the lanes bring within what a warp copies.
struct SwizzledSlot {
  LinearLayout shared; ///< From the offset, in elements, to coordinates.
  LinearLayout write;  ///< What each register, lane and warp brings.
};
/// None where two threads have one element, or where a register's coordinates and its thread's
/// share bits, so that they could not be added.
std::optional<SwizzledSlot> planSwizzledSlot(const LinearLayout &write,
                                             const RegisterVectors &copies,
                                             const LinearLayout &read, std::int32_t elementBytes,
                                             const SharedMemoryModel &memory);

/// How the threads read a tile in a layout, be it the one that the slot was planned for or another.
struct SlotReads {
  LinearLayout offsets; ///< From register, lane, warp to the offset,
  Bits first = 0;       ///< which is from here on (xor): of a part of a slot.

  Bits offsetOf(Bits reg) const { return offsets.apply(Dim::Register, reg) ^ first; }
  /// Each one access of a thread, of at most so many elements.
  RegisterVectors vectors(std::int64_t most) const;
};
/// Of the slot's coordinates that `read` gives, moved (xor) by `first`.
SlotReads slotReads(const LinearLayout &slot, const LinearLayout &read, Bits first = 0);

} // namespace imbrex::layout
