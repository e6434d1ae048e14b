#pragma once

#include "backend/machine/machine.h"
#include "backend/support/environment.h"
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

} // namespace imbrex::gpu
