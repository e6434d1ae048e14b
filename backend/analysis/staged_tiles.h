#pragma once

#include "backend/ir/kernel.h"

#include <set>

namespace imbrex::analysis {

/// The tiles that loops and conditions pass on from loads: what is brought in registers ahead of
/// the trip that wants it. Nothing is computed with them on the way, so that small elements may
/// stay together in the registers in which they came.
std::set<ir::ValueId> stagedTiles(const ir::Kernel &kernel);

} // namespace imbrex::analysis
