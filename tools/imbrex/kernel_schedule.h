#pragma once

#include "backend/machine/machine.h"
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
};

/// Which kernels have one: those with rings, of which there is something to prove; a timeline also
/// shows those that multiply on matrix units.
enum class Scheduled : std::uint8_t { WithRings, WithRingsOrUnits };

/// The schedule of a file: what stands there, or what a kernel that stands there does when it is
/// compiled for a machine, with what its operations cost. Errors where a kernel has none, or the
/// machine of one is not named.
std::optional<GivenSchedule> readGivenSchedule(const std::string &path, const std::string &target,
                                               Diagnostics &diagnostics,
                                               Scheduled wanted = Scheduled::WithRings);

/// Whether trips are a loop's, and not what a condition asks for alone.
bool isOfLoop(const schedule::Program &program, schedule::TripsId trips);

/// The schedule of a kernel that has been read.
std::optional<GivenSchedule> scheduleOf(ir::Kernel kernel, const machine::Machine &machine,
                                        Diagnostics &diagnostics,
                                        Scheduled wanted = Scheduled::WithRings);

} // namespace imbrex::tool
