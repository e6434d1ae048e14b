#pragma once

#include "backend/emulate/options.h"
#include "backend/ir/argument.h"
#include "backend/lower/kernel_interface.h"
#include "backend/machine/machine.h"
#include "backend/support/diagnostics.h"
#include "llvm/IR/Module.h"

#include <memory>

/// A GPU's own code, run and checked on the CPU.
namespace imbrex::emulate {

/// A kernel's LLVM module for a GPU, after LLVM's optimiser, made ready to run here. Immutable; any
/// number of threads may run it at once.
///
/// Each thread of a block is a fiber; lanes meet in warp operations, threads of a block at
/// barriers, and every access to memory is checked. docs/emulator.md says what a run without an
/// error proves.
class EmulatedProgram {
public:
  /// Null, and errors reported, where the module does something that has no model here. The module
  /// itself stays as it is; the ops that the interface names must outlive the program.
  static std::unique_ptr<EmulatedProgram> compile(const llvm::Module &module,
                                                  const machine::Machine &machine,
                                                  const lower::KernelInterface &interface,
                                                  Diagnostics &diagnostics);
  ~EmulatedProgram();

  /// Of a block.
  std::int32_t threads() const;

  /// Run every block of the grid. `arguments` are those of the kernel's parameters. False, and
  /// errors reported, where the kernel broke a rule.
  bool run(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
           const EmulatorOptions &options, Diagnostics &diagnostics) const;

private:
  EmulatedProgram();
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

} // namespace imbrex::emulate
