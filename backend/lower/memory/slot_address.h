#pragma once

#include "backend/layout/slot_layout.h"
#include "backend/lower/emitter.h"

#include <cstdint>

namespace imbrex::lower {

/// Where the element in a register lies in a tile in shared memory, which begins at `base`: at an
/// offset in elements of so many bytes, of which `offsets` says what lane and warp decide and
/// `constant` is the rest (xor).
///
/// The sum begins with the array and what only threads decide: that is the same in all trips of a
/// loop and for all slots, and stays in a register. Then come where in the array the tile begins,
/// and what an access can add for nothing.
llvm::Value *slotAddress(Emitter &emitter, llvm::Value *base, const layout::LinearLayout &offsets,
                         layout::Bits constant, std::int64_t bytes);

/// What of a shared tile's slot the threads read, who want these of the tile's coordinates.
layout::SlotReads readsOf(const Emitter &emitter, ir::ValueId tile,
                          const layout::LinearLayout &places);

} // namespace imbrex::lower
