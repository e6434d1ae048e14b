#pragma once

#include "backend/ir/kernel.h"

#include <set>

namespace imbrex::passes::pipeline {

/// Those ops of a loop's body, conditions with loads in them among them, that load what only its
/// next trip wants: these loads run ahead in registers (stage_loads.h), beside what a trip
/// computes.
std::set<const ir::Op *> loadsAheadInRegisters(const ir::Op &loop);

/// Those that read of slots what the next trip multiplies, and the products of what the last trip
/// has read so (carry_fragments.h).
std::set<const ir::Op *> carriedFragments(const ir::Kernel &kernel, const ir::Op &loop);

} // namespace imbrex::passes::pipeline
