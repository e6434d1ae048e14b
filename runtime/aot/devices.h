#pragma once

#include "backend/package/choice/tables.h"
#include "imbrex/aot.h"
#include "runtime/aot/driver/gpu.h"

/// The GPUs behind the vendors' drivers, opened when they are first asked for.
namespace imbrex::aot {

const driver::Vendor &vendorOf(const imbrex_stream &on);

/// Whether a stream is a GPU's that there can be.
inline bool isOfGpu(const imbrex_stream *stream) {
  return stream != nullptr && (stream->device == IMBREX_CUDA || stream->device == IMBREX_HIP) &&
         static_cast<std::uint32_t>(stream->number) < kMostGpus;
}
/// The same as `check`, of a stream that is none of a GPU's.
int checkOther(const imbrex_stream *stream);
/// An error where a stream is of no device that there can be.
inline int check(const imbrex_stream *stream) {
  return isOfGpu(stream) ? IMBREX_OK : checkOther(stream);
}

/// The GPU of a stream that is not the host's; it holds as long as the process. Null, and an error
/// kept, where there is none: it is looked for again the next time.
const driver::Gpu *gpuOf(const imbrex_stream &on);

/// The place of a GPU's stream among all, less than kGpuPlaces.
inline std::size_t placeOf(const imbrex_stream &on) {
  return (on.device == IMBREX_CUDA ? 0 : kMostGpus) + static_cast<std::size_t>(on.number);
}

} // namespace imbrex::aot
