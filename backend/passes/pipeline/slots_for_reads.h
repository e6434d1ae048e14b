#pragma once

#include "backend/analysis/fragment_access.h"
#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"

namespace imbrex::passes::pipeline {

/// How a ring's slots may lie, from the offset to their coordinates, when they are planned for
/// those who read these of them.
analysis::PlacedTiles slotLayoutsFor(const ir::Kernel &kernel, ir::ValueId ring,
                                     const layout::LinearLayout &read,
                                     const machine::Machine &machine);

} // namespace imbrex::passes::pipeline
