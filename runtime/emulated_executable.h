#pragma once

#include "backend/machine/machine.h"
#include "runtime/executable.h"

namespace imbrex::runtime {

/// The code of a kernel at stage laid for a GPU, run here. Null, and errors reported, where it can't
/// be compiled.
std::shared_ptr<const Executable> makeEmulatedExecutable(ir::Kernel kernel,
                                                         const machine::Machine &machine,
                                                         Diagnostics &diagnostics);

} // namespace imbrex::runtime
