#pragma once

#include "imbrex/stream.hpp"
#include "runtime/devices.h"
#include "runtime/gpu/supported_gpu.h"

#include <optional>

namespace imbrex::runtime {

/// Whether devices of a kind are behind a driver, which says whether they are there.
constexpr bool isGpu(DeviceKind kind) { return info(kind).make != nullptr; }

/// The GPU of such a device. Its driver is opened when it is first asked for; a GPU then holds as
/// long as the process, and where there is none it is looked for again the next time.
Result<const gpu::SupportedGpu *> gpuOf(const DeviceInfo &device);

/// A queue of a vendor's that is given for a device which has none.
std::optional<Diagnostic> checkStream(const stream_ref &in, Location where);

/// The GPU of a stream; null of a device that runs on the processor, where every launch has ended
/// when it returns. An error where that was given a queue, too.
Result<const gpu::SupportedGpu *> gpuOf(const stream_ref &in, Location where = {});

} // namespace imbrex::runtime
