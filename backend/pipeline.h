#pragma once

#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/ArrayRef.h"

#include <string_view>

namespace imbrex {

/// One step of the compiler: a free function over the IR, and the stages it starts at and reaches.
struct Pass {
  std::string_view name;
  void (*run)(ir::Kernel &kernel, Diagnostics &diagnostics);
  ir::Stage from;
  ir::Stage to;
};

/// Every pass there is, by name; `imbrex opt --passes` and the golden tests choose from these.
llvm::ArrayRef<Pass> allPasses();
/// From a traced kernel to what the host target and the interpreter take, in order.
llvm::ArrayRef<Pass> hostPipeline();

/// Run passes in order, verifying after each and writing dumps as the environment asks
/// (docs/environment.md). Stops after the first pass that reports an error, or after `stopAfter`.
/// False when an error was reported.
bool runPasses(ir::Kernel &kernel, llvm::ArrayRef<Pass> passes, Diagnostics &diagnostics,
               std::string_view stopAfter = {});

} // namespace imbrex
