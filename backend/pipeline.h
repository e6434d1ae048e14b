#pragma once

#include "backend/pass.h"
#include "llvm/ADT/ArrayRef.h"

#include <string_view>

namespace imbrex {

/// Every pass there is, by name; `imbrex opt --passes` and the golden tests choose from these.
llvm::ArrayRef<Pass> allPasses();
/// The pass of this name; null, and an error that suggests the nearest, where there is none.
const Pass *findPass(std::string_view name, Diagnostics &diagnostics);
/// From a traced kernel to what the host target takes, in order. The interpreter takes what the
/// first pass leaves.
llvm::ArrayRef<Pass> hostPipeline();
/// The same, and on to what is lowered for a GPU: a kernel at stage scheduled.
llvm::ArrayRef<Pass> gpuPipeline();
/// The end of it, for a kernel that comes at this stage.
llvm::ArrayRef<Pass> gpuPipelineFrom(ir::Stage stage);

/// Run passes in order, verifying after each and writing dumps as the environment asks
/// (docs/environment.md). Stops after the first pass that reports an error, or after `stopAfter`.
/// False when an error was reported.
bool runPasses(ir::Kernel &kernel, llvm::ArrayRef<Pass> passes, const passes::PassContext &context,
               std::string_view stopAfter = {});

} // namespace imbrex
