#pragma once

#include "runtime/devices.h"
#include "runtime/gpu/gpu.h"

namespace imbrex::runtime {

/// Whether devices of a kind are behind a driver, which says whether they are there.
bool isGpu(DeviceKind kind);

/// The GPU of such a device. Its driver is opened when it is first asked for; a GPU then holds as
/// long as the process, and where there is none it is looked for again the next time.
Result<const gpu::Gpu *> gpuOf(const DeviceInfo &device);

} // namespace imbrex::runtime
