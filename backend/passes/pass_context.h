#pragma once

#include "backend/machine/machine.h"
#include "backend/support/diagnostics.h"

namespace imbrex::passes {

/// What a pass may ask and tell, besides the kernel.
struct PassContext {
  // Not explicit: whoever compiles for the host has the diagnostics alone.
  PassContext(Diagnostics &reports, const machine::Machine &target = machine::hostMachine())
      : diagnostics(reports), machine(target) {}

  Diagnostics &diagnostics;
  const machine::Machine &machine; ///< That the kernel is compiled for.
};

} // namespace imbrex::passes
