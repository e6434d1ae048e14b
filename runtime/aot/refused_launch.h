#pragma once

#include "backend/package/choice/tables.h"
#include "runtime/aot/driver/gpu.h"

namespace imbrex::aot {

/// The error of what a driver did not take. An imbrex_status.
int refusedLaunch(const KernelRow &kernel, const driver::Gpu &gpu, const driver::Launch &launch,
                  int error) noexcept;

} // namespace imbrex::aot
