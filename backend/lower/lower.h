#pragma once

#include "backend/ir/kernel.h"
#include "backend/lower/kernel_interface.h"
#include "backend/lower/promises.h"
#include "backend/lower/vocabulary.h"
#include "llvm/IR/Module.h"

namespace imbrex::lower {

/// Write the code of one thread for a kernel at stage Laid into a module that the target has
/// prepared. The kernel must outlive the interface, which names its ops.
KernelInterface lowerKernel(const ir::Kernel &kernel, const Vocabulary &words,
                            const Promises &promises, llvm::Module &module);

} // namespace imbrex::lower
