#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/ArrayRef.h"

#include <functional>
#include <memory>
#include <optional>

namespace imbrex::host {

class Compiler;
struct KernelCode;
struct LaunchTraits;

/// Makes a kernel's code for launches with these traits; none where an error was reported. Never
/// called by two threads at once.
using MakeCode =
    std::function<std::optional<KernelCode>(const LaunchTraits &traits, Diagnostics &diagnostics)>;

/// A kernel compiled for this machine's CPU. Immutable; any number of threads may run it at once.
class HostProgram {
public:
  /// Compile a kernel at stage Tiles (after the host pipeline of backend/pipeline.h). Null when
  /// something was reported, such as an inline_asm for another target. The first code is for a
  /// launch with these arguments or, without any, for the usual one.
  static std::unique_ptr<HostProgram> compile(const ir::Kernel &kernel, Diagnostics &diagnostics,
                                              llvm::ArrayRef<ir::Argument> launch = {});
  /// By a compiler for a machine whose code this one can execute, such as an older CPU. It must
  /// outlive the program.
  static std::unique_ptr<HostProgram> compile(const ir::Kernel &kernel, Diagnostics &diagnostics,
                                              llvm::ArrayRef<ir::Argument> launch,
                                              Compiler &compiler);
  /// Of a kernel of any stage, whose code is made by `make`, which may find what was made before.
  static std::unique_ptr<HostProgram> from(std::shared_ptr<const ir::Kernel> kernel, MakeCode make,
                                           Diagnostics &diagnostics,
                                           llvm::ArrayRef<ir::Argument> launch);
  ~HostProgram();

  /// Run every block of the grid on the thread pool and return when all are done. False when a
  /// device assert failed, which is reported with its text and line, or when the launch needs code
  /// that can be compiled no more.
  bool run(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
           Diagnostics &diagnostics) const;

private:
  HostProgram();
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

} // namespace imbrex::host
