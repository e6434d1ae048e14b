#pragma once

#include "backend/compile.h"
#include "backend/target/gpu_target.h"
#include "imbrex/trace.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace bench {

/// What a kernel's code for a GPU is like; no GPU is needed to know it.
struct Quality {
  std::int32_t threads = 0; ///< Of a block.
  /// Of the assembly, of which some vendors' own assemblers make other instructions.
  imbrex::target::InstructionMix instructions;
  std::int64_t bankConflicts = 0; ///< In cycles, of a launch of four blocks on the emulator.
  /// None where the vendor's assembler is not here; `resources` are zeros then.
  std::optional<std::vector<char>> image;
  imbrex::target::Resources resources;
};

/// Compile a kernel under the usual assumptions.
imbrex::GpuCode codeOf(const imbrex::traced_kernel &kernel,
                       const imbrex::target::GpuTarget &target);
/// All of its quality but what a run shows.
Quality measure(const imbrex::GpuCode &code, const imbrex::target::GpuTarget &target);

/// Compile and emulate a kernel whose parameters are views, under the usual assumptions.
Quality measure(const imbrex::traced_kernel &kernel, const imbrex::target::GpuTarget &target);

} // namespace bench
