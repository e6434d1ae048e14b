#pragma once

#include "backend/machine/machine.h"
#include "backend/support/environment.h"
#include "backend/support/result.h"
#include "runtime/aot/driver/driver.h"

#include <string>
#include <vector>

namespace imbrex::gpu {

/// A vendor's GPUs as the compiler knows them.
struct Make {
  const driver::Vendor &vendor;
  machine::Family family;
  EnvironmentText Environment::*path; ///< The vendor's variable, as it was read.
};

const Make &cuda();
const Make &hip();

/// Where the driver may be: where its variable says, if that is set.
std::vector<std::string> driverPaths(const Make &make);

/// What to make for a device.
struct SuitableCode {
  const machine::Machine *machine;
  /// Its driver runs no image of ours, but makes one of the assembly of that older machine.
  bool asAssembly;
};

/// "the image of sm_90a", "the assembly of sm_89"
std::string toText(const SuitableCode &code);

/// What this build can make for the device of a number that its driver names so: "sm_90" (from the
/// compute capability 9.0), "gfx942:sramecc+:xnack-". The same rule chooses among the members of a
/// package (backend/package/member.h). The error says which machines there is code for.
Result<SuitableCode> suitableCode(std::string_view driversName, const Make &make,
                                  std::int32_t number);

} // namespace imbrex::gpu
