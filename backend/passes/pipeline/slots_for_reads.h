#pragma once

#include "backend/analysis/fragment_access.h"
#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"

namespace imbrex::passes::pipeline {

/// What is read of a shared tile, by the coordinates that its slot has, under whatever name the
/// tile goes.
layout::LinearLayout inSlot(const ir::Kernel &kernel, ir::ValueId tile,
                            const layout::LinearLayout &places);

/// How a tile may lie, from the offset to its coordinates, in a slot that is planned for those who
/// read it in `places`.
analysis::PlacedTiles slotsFor(const ir::Kernel &kernel, ir::ValueId tile,
                               const layout::LinearLayout &places, const machine::Machine &machine);

} // namespace imbrex::passes::pipeline
