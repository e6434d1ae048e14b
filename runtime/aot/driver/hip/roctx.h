#pragma once

#include "runtime/aot/driver/ranges.h"

namespace imbrex::driver::roctx {

/// AMD's, by the functions of roctx (roctx.h of ROCprofiler-SDK and of ROCTracer); null where
/// neither library is found.
const Ranges *ranges();

} // namespace imbrex::driver::roctx
