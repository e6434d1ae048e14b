#pragma once

#include "backend/analysis/fragment_access.h"
#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"

namespace imbrex::passes::pipeline {

/// How a shared tile's slot may lie, from the offset to its coordinates, when it is planned for
/// those who read these of them.
analysis::PlacedTiles slotsFor(const ir::Kernel &kernel, ir::ValueId tile,
                               const layout::LinearLayout &read, const machine::Machine &machine);

} // namespace imbrex::passes::pipeline
