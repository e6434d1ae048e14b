#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"

#include <cstdint>
#include <vector>

namespace imbrex::lower {

/// A turn around the rings that a loop's body fills and reads once in each trip. Code that has a
/// body for each trip of it knows the slots.
struct RingTurn {
  std::int64_t trips = 1; ///< 1: such code is not worth its length, or there are other rings.
  std::vector<ir::ValueId> rings = {};
};

/// Of a loop that multiplies tiles from slots on matrix units, and does nothing else; it may load
/// tiles from slots. Beside those
/// instructions it matters what slots and addresses take.
RingTurn ringTurn(const ir::Kernel &kernel, const ir::Op &loop, const machine::Machine &machine);

} // namespace imbrex::lower
