#pragma once

#include "backend/machine/machine.h"
#include "backend/passes/pipeline/loop_loads.h"

#include <string>
#include <vector>

namespace imbrex::passes::pipeline {

/// Why nobody but the kernel's own threads can start the loads of these loops: what decides where
/// and whether they load is known to them alone, or the kernel waits for all of a block's threads
/// in a way that is not ours. Empty where a role of its own can.
std::string whyNoLoader(const ir::Kernel &kernel, const std::vector<const ir::Op *> &loops,
                        const std::vector<LoopLoads> &loads, const machine::Machine &machine);

} // namespace imbrex::passes::pipeline
