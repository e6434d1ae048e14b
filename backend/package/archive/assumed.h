#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"
#include "backend/target/host/launch_traits.h"

#include <vector>

/// Which code a library has of a kernel: nothing can be compiled when a launch comes that keeps
/// less than most do.
namespace imbrex::archive {

/// What code on such a GPU assumes, the most first, nothing last: what most launches keep; that of
/// any whole numbers; both of arguments that overlap, as those do that are written in place; what
/// those keep whose sizes divide nothing, and of kernels that take bare pointers, of which nobody
/// knows whether they overlap, that without this.
std::vector<analysis::Assumptions> assumedOnGpu(const ir::Kernel &kernel,
                                                const machine::Machine &machine);

/// The same for the processor, to which nothing else makes a difference than strides and overlaps.
std::vector<analysis::Assumptions> assumedOnHost(const ir::Kernel &kernel);
host::LaunchTraits traitsOf(const ir::Kernel &kernel, const analysis::Assumptions &assumptions);

} // namespace imbrex::archive
