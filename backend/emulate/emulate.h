#pragma once

#include "backend/emulate/model/counters.h"
#include "backend/emulate/model/delivery.h"
#include "backend/emulate/model/numerics.h"
#include "backend/ir/argument.h"
#include "backend/lower/kernel_interface.h"
#include "backend/machine/machine.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Module.h"

#include <memory>

/// A GPU's own code, run and checked on the CPU.
namespace imbrex::emulate {

struct Options {
  /// Of the order in which warps and blocks run, and of what else may differ from run to run.
  std::uint64_t seed = 0;
  Delivery delivery = Delivery::Late;
  Numerics numerics = Numerics::Exact; ///< Of matrix instructions.
  /// A thread that makes more turns of loops than this has lost its way.
  std::int64_t mostTurns = 50'000'000;
  /// Warps that meet may each be at another barrier of the block, as hardware lets them: for groups
  /// of warps that are a barrier apart. Else it is an error, as it mostly is a mistake.
  bool warpsMeetAnywhere = false;
  /// Filled with what the run has cost; null where nobody wants to know, which is faster.
  Counters *counters = nullptr;
  /// The buffer for prints and failed asserts (lower/observations.h) of a caller who reads it;
  /// empty: the run makes one and tells what is in it.
  llvm::MutableArrayRef<std::uint64_t> observations = {};
};

/// A kernel's LLVM module for a GPU, after LLVM's optimiser, made ready to run here. Immutable; any
/// number of threads may run it at once.
///
/// Each thread of a block is a fiber; lanes meet in warp operations, threads in barriers, and every
/// access to memory is checked. docs/emulator.md says what a run without an error proves.
class Program {
public:
  /// Null, and errors reported, where the module does something that has no model here. The module
  /// itself stays as it is; the ops that the interface names must outlive the program.
  static std::unique_ptr<Program> compile(const llvm::Module &module,
                                          const machine::Machine &machine,
                                          const lower::KernelInterface &interface,
                                          Diagnostics &diagnostics);
  ~Program();

  /// Of a block.
  std::int32_t threads() const;

  /// Run every block of the grid. `arguments` are those of the kernel's parameters. False, and
  /// errors reported, where the kernel broke a rule.
  bool run(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments, const Options &options,
           Diagnostics &diagnostics) const;

private:
  Program();
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

} // namespace imbrex::emulate
