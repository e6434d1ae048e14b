#pragma once

#include "runtime/devices.h"
#include "runtime/gpu/gpu.h"

namespace imbrex::runtime {

/// Whether devices of a kind are behind a driver, which says whether they are there.
bool isGpu(DeviceKind kind);

/// The GPU of such a device. Its driver is opened when it is first asked for; the answer, a GPU or
/// the reason why there is none, then holds as long as the process.
Result<const gpu::Gpu *> gpuOf(const DeviceInfo &device);

} // namespace imbrex::runtime
