// What the build compiles ahead of time: two widths of one kernel, of which launches run the one
// that their rows fit (tuned.json).

#include "kernel.hpp"
#include <imbrex/generator.hpp>

IMBREX_KERNEL(rms_norm, rms_norm<1024>{});
IMBREX_KERNEL_CONFIG(rms_norm, narrow, rms_norm<128>{});
