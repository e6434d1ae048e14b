#pragma once

#include "backend/machine/machine.h"
#include "runtime/executable.h"

namespace imbrex::runtime {

/// The code of a kernel, of any stage, for a GPU, run here. What a launch keeps of what code may
/// take for granted is found out at each; the code for what most keep, or for the launch that will
/// come, is compiled at once. Null, and errors reported, where it can't be.
std::shared_ptr<const Executable> makeEmulatedExecutable(ir::Kernel kernel,
                                                         const machine::Machine &machine,
                                                         Diagnostics &diagnostics,
                                                         llvm::ArrayRef<ir::Argument> launch);

} // namespace imbrex::runtime
