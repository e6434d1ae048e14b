#pragma once

#include <cstdint>
#include <string_view>

/// Which code a device can run: for programs without LLVM as well.
namespace imbrex::package {

/// How well code serves a device: more is better, 0 not at all. `machine` is one of targets.def,
/// "sm_90a" or "gfx942"; the code is its image or, of NVIDIA's, its assembly. A device is named as
/// its driver names it: "sm_90" (from the compute capability 9.0), "gfx942:sramecc+:xnack-".
///
///   NVIDIA   its own image; an image of its family, that is of the same generation and no newer
///            machine, neither of which is a Tegra; any other image of such; the newest assembly
///            that is no newer than the device, for a family only within that. What is made for
///            "sm_90a" runs on an sm_90 and on nothing else (CUDA C++ Programming Guide 13, "Binary
///            Compatibility", "Architecture-Specific Features", "Family-Specific Features").
///   AMD      its own image; an image for the generic machine that it belongs to (LLVM,
///            AMDGPUUsage, "Generic Processor Code Object Versioning").
std::int32_t fitOf(std::string_view machine, bool isAssembly, std::string_view device);

} // namespace imbrex::package
