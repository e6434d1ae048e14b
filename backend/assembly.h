#pragma once

#include "backend/gpu_code.h"
#include "backend/stage_times.h"
#include "backend/support/result.h"
#include "backend/target/gpu_target.h"

#include <string>

/// From a kernel's code to what a driver loads.
namespace imbrex {

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

} // namespace imbrex
