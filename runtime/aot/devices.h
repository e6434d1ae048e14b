#pragma once

#include "backend/package/choice/tables.h"
#include "imbrex/aot.h"
#include "runtime/aot/driver/gpu.h"

/// The GPUs behind the vendors' drivers, opened when they are first asked for.
namespace imbrex::aot {

const driver::Vendor &vendorOf(const imbrex_stream &on);

/// An error where a stream is of no device that there can be.
int check(const imbrex_stream *stream);

/// The GPU of a stream that is not the host's; it holds as long as the process. Null, and an error
/// kept, where there is none: it is looked for again the next time.
const driver::Gpu *gpuOf(const imbrex_stream &on);

/// Whether it may be a GPU's stream: of a vendor that there is, and a number that there can be.
inline bool mayBeGpus(const imbrex_stream &on) {
  return (on.device == IMBREX_CUDA || on.device == IMBREX_HIP) &&
         static_cast<std::uint32_t>(on.number) < kMostGpus;
}
/// The place of such a stream's GPU among all, less than kGpuPlaces.
inline std::size_t placeOf(const imbrex_stream &on) {
  return (on.device == IMBREX_CUDA ? 0 : kMostGpus) + static_cast<std::size_t>(on.number);
}

} // namespace imbrex::aot
