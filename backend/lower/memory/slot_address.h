#pragma once

#include "backend/lower/emitter.h"

#include <cstdint>

namespace imbrex::lower {

/// Where the element in a register lies in a tile in shared memory, which begins at `base`.
/// `offsets`: from register, lane and warp to the offset in it, in elements of so many bits.
///
/// The sum begins with the array and what only threads decide: that is the same in all trips of a
/// loop and for all slots, and stays in a register. Then come where in the array the tile begins,
/// and what an access can add for nothing.
llvm::Value *slotAddress(Emitter &emitter, llvm::Value *base, const layout::LinearLayout &offsets,
                         layout::Bits number, std::int64_t bits);

} // namespace imbrex::lower
