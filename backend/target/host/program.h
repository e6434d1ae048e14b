#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/ArrayRef.h"

#include <memory>

namespace imbrex::host {

/// A kernel compiled for this machine's CPU. Immutable; any number of threads may run it at once.
class Program {
public:
  /// Compile a kernel at stage Tiles (after the host pipeline of backend/pipeline.h). Null when
  /// something was reported, such as an inline_asm for another target.
  static std::unique_ptr<Program> compile(const ir::Kernel &kernel, Diagnostics &diagnostics);
  ~Program();

  /// Run every block of the grid on the thread pool and return when all are done. False when a
  /// device assert failed; it is reported with its text and line.
  bool run(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
           Diagnostics &diagnostics) const;

private:
  Program();
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

} // namespace imbrex::host
