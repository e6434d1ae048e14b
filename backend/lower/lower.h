#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"
#include "backend/lower/kernel_interface.h"
#include "backend/lower/vocabulary.h"
#include "llvm/IR/Module.h"

namespace imbrex::lower {

/// Write the code of one thread for a kernel at stage Laid into a module that the target has
/// prepared. Every launch must keep the assumptions, those that the layouts were assigned under or
/// fewer. The kernel must outlive the interface, which names its ops.
KernelInterface lowerKernel(const ir::Kernel &kernel, const Vocabulary &words,
                            const analysis::Assumptions &assumptions, llvm::Module &module);

} // namespace imbrex::lower
