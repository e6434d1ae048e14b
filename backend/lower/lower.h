#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"
#include "backend/lower/kernel_interface.h"
#include "backend/lower/vocabulary.h"
#include "backend/support/result.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Module.h"

#include <memory>

namespace imbrex::lower {

struct LoweredKernel {
  std::unique_ptr<llvm::Module> module;
  KernelInterface interface;
};

/// Write the code of one thread for a kernel at stage Scheduled into a module that `newModule`
/// makes and the target has prepared. Every launch must keep the assumptions, those that the
/// layouts were assigned under or fewer. The kernel must outlive the interface, which names its
/// ops. An error where an op wants more shared memory than a block has.
Result<LoweredKernel> lowerKernel(const ir::Kernel &kernel, const Vocabulary &words,
                                  const analysis::Assumptions &assumptions,
                                  llvm::function_ref<std::unique_ptr<llvm::Module>()> newModule);

} // namespace imbrex::lower
