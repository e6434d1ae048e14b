#pragma once

#include "backend/gpu_code.h"
#include "backend/loops_on_units.h"
#include "backend/machine/occupancy.h"
#include "backend/stage_times.h"
#include "backend/support/diagnostics.h"
#include "backend/target/gpu_target.h"

#include <optional>
#include <string>

namespace imbrex {

/// What a compiled kernel takes of its machine, and what it is made of. Some of it only the image
/// tells, which only the machine's assembler makes.
struct Report {
  lower::KernelInterface interface;
  analysis::Assumptions assumptions; ///< Of the launches.
  std::vector<analysis::Requirement> requirements;
  const machine::Machine *machine = nullptr;
  target::Resources resources;
  machine::Occupancy occupancy;
  target::InstructionMix instructions;
  std::vector<LoopOnUnits> loops; ///< Those that multiply on matrix units.
  ProductsOnUnits outsideLoops;   ///< What is multiplied on them elsewhere.
  std::int64_t assemblyBytes = 0;
  std::int64_t imageBytes = 0;
  /// Set where no assembler is found. The registers, spills, stack, occupancy and the image's bytes
  /// are not known then, and zeros; all else is as it would be with one.
  std::optional<Diagnostic> noImage = {};
  std::optional<Diagnostic> spills = {}; ///< The warning, where registers are spilled.
  std::optional<Spilling> instead = {};  ///< Of the warps that were not taken, if any were not.
};

/// Makes the assembly and, where there is an assembler, the image to see; `times` gets what that
/// took. An error is of the code: one of them could not be made of it. The kernel is still there.
Result<Report> reportOf(const GpuCode &code, const target::GpuTarget &target,
                        StageTimes *times = nullptr);

std::string toText(const Report &report);
/// One JSON object, a line.
std::string toJson(const Report &report);

} // namespace imbrex
