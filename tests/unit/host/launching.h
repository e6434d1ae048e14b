#pragma once

#include "backend/ir/builder.h"
#include "backend/target/host/host_emitter.h"
#include "backend/target/host/run/host_program.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/support/vector_arguments.h"

#include <string>
#include <vector>

/// Launches of kernels that are built by hand, and the code of a kernel.
namespace imbrex::host {

using testing::number;
using testing::pointerTo;
using testing::viewOf;
using testing::wholeNumbers;

/// Compiles it each time: for many launches there is HostProgram itself.
inline void launch(const ir::Kernel &kernel, const ir::Grid &grid,
                   const std::vector<ir::Argument> &arguments) {
  Diagnostics diagnostics;
  const std::unique_ptr<HostProgram> program = HostProgram::compile(kernel, diagnostics);
  if (program) program->run(grid, arguments, diagnostics);
}

/// As it is emitted.
inline std::string codeOf(const ir::Kernel &kernel,
                          const VectorUnit &unit = {.bits = 256, .registers = 16}) {
  llvm::LLVMContext context;
  llvm::Module module("k", context);
  const LaunchTraits traits = usualTraits(kernel);
  const LoopPlan plan = planLoops(kernel, traits);
  HostEmitter(module, kernel, plan, traits, {.vectors = unit}).emitEntry("entry");
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

} // namespace imbrex::host
