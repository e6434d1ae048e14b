#pragma once

#include "runtime/aot/devices.h"
#include "runtime/aot/error.h"

namespace imbrex::aot {

/// Of a stream that is checked: on a GPU what `onGpu` does with it, else what `onHost` does. Both
/// say whether they could, the first by the driver's error.
template <class OnGpu, class OnHost>
int perform(const imbrex_stream *stream, const char *what, OnGpu onGpu, OnHost onHost) {
  if (const int status = check(stream); status != IMBREX_OK) return status;
  if (stream->device == IMBREX_HOST)
    return onHost() ? IMBREX_OK : fail(IMBREX_NO_MEMORY, "the host can't %s", what);
  const driver::Gpu *gpu = gpuOf(*stream);
  if (gpu == nullptr) return IMBREX_NO_DEVICE;
  const int error = onGpu(*gpu);
  if (error == 0) return IMBREX_OK;
  return fail(IMBREX_REFUSED, "%s can't %s: %s", gpu->description().c_str(), what,
              gpu->textOf(error).c_str());
}

inline bool isDone() { return true; }

} // namespace imbrex::aot
