#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"
#include "backend/lower/kernel_interface.h"
#include "backend/validate/ring_order.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace imbrex {

/// Warps that were not taken, as a thread of them puts so much into memory for want of registers.
struct Spilling {
  std::int32_t warps;
  std::optional<std::int64_t> bytes; ///< None: even so, there are too few.
};

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
  std::string assembly = {};             ///< Where it was made to see what spills; else empty.
  bool triedOthers = false;              ///< If its blocks' warps spilled, others were tried.
  std::optional<Spilling> spilling = {}; ///< If its blocks have other warps than passes choose.

  /// What assembly is made from, and the emulator runs: shared memory is as the launch gives it.
  /// The target's functions use it up.
  std::unique_ptr<llvm::Module> copy() const;
};

} // namespace imbrex
