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

/// Its place among all GPUs, less than kGpuPlaces.
std::size_t placeOf(const imbrex_stream &on);

} // namespace imbrex::aot
