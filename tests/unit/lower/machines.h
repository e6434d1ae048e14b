#pragma once

#include "backend/target/gpu_target.h"
#include "llvm/ADT/STLExtras.h"

#include <vector>

namespace imbrex {

/// One machine for each size of a warp that there is code for.
inline std::vector<const machine::Machine *> machinesOfEachWarpSize() {
  std::vector<const machine::Machine *> chosen;
  for (const machine::Machine &machine : machine::allMachines())
    if (target::findGpuTarget(machine) &&
        llvm::none_of(chosen, [&](const auto *m) { return m->warpSize == machine.warpSize; }))
      chosen.push_back(&machine);
  return chosen;
}

} // namespace imbrex
