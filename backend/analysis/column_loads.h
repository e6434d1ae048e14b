#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"

namespace imbrex::analysis {

/// Whether an op may be a load by columns (layout/column_loads.h), as far as its kind tells: of a
/// view, with zeros outside of it, and without hints, for which these loads have no place.
bool mayLoadColumns(const ir::Kernel &kernel, const ir::Op &op, const machine::Machine &machine);

} // namespace imbrex::analysis
