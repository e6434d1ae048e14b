#pragma once

#include "backend/machine/machine.h"
#include "backend/schedule/timeline/blocks_of_core.h"
#include "tools/imbrex/command.h"

#include <optional>
#include <string>

namespace imbrex::tool {

/// A schedule to look at, and where it came from.
struct GivenSchedule {
  schedule::Program program;
  /// Of a kernel, for people: what the roles stand for, which loop each number of trips is of.
  std::string about = {};
  std::string explanation = {}; ///< Of a kernel: why its passes decided as they did.
  bool isOfKernel = false;
  schedule::DealtResource dealt = {}; ///< Of a kernel, among several blocks of a core.
};

/// What a kernel's schedule is read for. A kernel has one if it has rings.
enum class ScheduleFor : std::uint8_t {
  Proof,    ///< The very one that is proven when it is compiled.
  Text,     ///< With what its operations cost.
  Timeline, ///< The same; kernels have one, too, that multiply on matrix units and have no rings.
};

/// The schedule of a file: what stands there, or what a kernel that stands there does when it is
/// compiled for a machine. Errors where a kernel has none, or the machine of one is not named.
std::optional<GivenSchedule> readGivenSchedule(const std::string &path, const std::string &target,
                                               Diagnostics &diagnostics, ScheduleFor what);

/// Whether trips are a loop's, and not what a condition asks for alone.
bool isOfLoop(const schedule::Program &program, schedule::TripsId trips);

/// The schedule of a kernel that has been read.
std::optional<GivenSchedule> scheduleOf(ir::Kernel kernel, const machine::Machine &machine,
                                        Diagnostics &diagnostics, ScheduleFor what);

} // namespace imbrex::tool
