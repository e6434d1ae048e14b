#pragma once

#include "backend/compile.h"
#include "backend/machine/occupancy.h"

#include <string>

namespace imbrex {

/// What a compiled kernel takes of its machine, and what it is made of.
struct Report {
  lower::KernelInterface interface;
  analysis::Assumptions assumptions; ///< Of the launches.
  const machine::Machine *machine = nullptr;
  target::Resources resources;
  machine::Occupancy occupancy;
  target::InstructionMix instructions;
  std::int64_t assemblyBytes = 0;
  std::int64_t imageBytes = 0;
  std::optional<Diagnostic> spills = {}; ///< The warning, where registers are spilled.
};

/// Makes assembly and image to see; `times` gets what that took.
Result<Report> reportOf(const GpuCode &code, const target::GpuTarget &target,
                        StageTimes *times = nullptr);

std::string toText(const Report &report);
/// One JSON object, a line.
std::string toJson(const Report &report);

} // namespace imbrex
