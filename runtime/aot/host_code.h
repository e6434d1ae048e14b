#pragma once

#include "runtime/aot/bind.h"

/// Code for the processor.
namespace imbrex::aot {

/// Of what launches run here, whatever they keep; null where there is nothing for this processor.
const CodeRow *usualCode(const KernelRow &kernel);

/// Run all blocks of a launch, and return when all are done. An imbrex_status.
int runOnHost(const KernelRow &kernel, const BoundArguments &bound);

} // namespace imbrex::aot
