#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"
#include "backend/lower/kernel_interface.h"
#include "backend/support/diagnostics.h"
#include "backend/target/gpu_target.h"
#include "backend/validate/ring_order.h"
#include "llvm/IR/LLVMContext.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace imbrex {

/// What the time of a compilation went into, in order.
struct StageTime {
  std::string_view stage;
  std::chrono::nanoseconds took;
};
using StageTimes = std::vector<StageTime>;

/// A kernel as LLVM IR for one thread of a GPU, optimised, in which all that lies in shared memory
/// is an array of its own.
struct GpuCode {
  std::unique_ptr<llvm::LLVMContext> context; // outlives the module
  std::unique_ptr<llvm::Module> module;
  lower::KernelInterface interface;
  analysis::Assumptions assumptions;               ///< Of its launches.
  std::vector<analysis::Requirement> requirements; ///< That refuse others.
  RingOrder rings;                                 ///< What was proven of its rings, if it has any.
  const ir::Kernel *kernel = nullptr;              ///< That it was made of, laid out on threads.

  /// What assembly is made from, and the emulator runs: shared memory is as the launch gives it.
  /// The target's functions use it up.
  std::unique_ptr<llvm::Module> copy() const;
};

/// Bring a kernel of any stage to a target's code for launches that keep the assumptions: the
/// passes of its pipeline, lowering, LLVM's optimiser. The kernel is at stage Scheduled afterwards,
/// and must outlive the code, which names its ops. None where an error was reported.
std::optional<GpuCode> compileForGpu(ir::Kernel &kernel, const target::GpuTarget &target,
                                     const analysis::Assumptions &assumptions,
                                     Diagnostics &diagnostics, StageTimes *times = nullptr);

/// The assembly of a kernel. Where it has rings, it is held to do what was proven of them. `times`
/// gets what that took.
Result<std::string> makeAssembly(const GpuCode &code, const target::GpuTarget &target,
                                 StageTimes *times = nullptr);
/// The same assembly, of the module itself, which the code lacks afterwards: a copy takes long.
Result<std::string> makeAssemblyInPlace(GpuCode &code, const target::GpuTarget &target,
                                        StageTimes *times = nullptr);
/// The image of that very assembly, by an assembler, which is trusted.
Result<target::ObjectCode> makeObject(const std::string &assembly, const target::GpuTarget &target,
                                      StageTimes *times = nullptr);

/// The target of a machine; null, and an error, where there is none.
const target::GpuTarget *gpuTargetOf(const machine::Machine &machine, Diagnostics &diagnostics);

} // namespace imbrex
