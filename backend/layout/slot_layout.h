#pragma once

#include "backend/layout/shared_conversion.h"

/// How a tile lies in a slot of shared memory into which it is copied from global memory by the
/// threads, and from which they read it in another layout.
namespace imbrex::layout {

struct SlotLayout {
  LinearLayout shared;       ///< From the offset, in elements, to coordinates.
  LinearLayout writeOffsets; ///< From register, lane, warp to the offset.
};

/// The vectors of the copies adjoin and are aligned in the slot, as they are in global memory, for
/// a copy passes no registers that could bring them into another order. Where the conversion from
/// one layout to the other (shared_conversion.h), which has no bank conflicts, keeps them together,
/// it is that; else vector follows vector.
SlotLayout planSlot(const LinearLayout &write, const RegisterVectors &copies,
                    const LinearLayout &read, std::int32_t elementBytes,
                    const SharedMemory &memory);

/// The same where a copy of a warp leaves what its lanes bring side by side, in their order: the
/// elements of a vector, then the lanes' vectors, then the rest. No two lanes have one element.
SlotLayout planSlotInLaneOrder(const LinearLayout &write, const RegisterVectors &copies);

/// How the threads read a tile in a layout, be it the one that the slot was planned for or another.
struct SlotReads {
  LinearLayout offsets;    ///< From register, lane, warp to the offset.
  RegisterVectors vectors; ///< Each one access of a thread.
};
SlotReads slotReads(const SlotLayout &slot, const LinearLayout &read, std::int32_t elementBytes);

} // namespace imbrex::layout
