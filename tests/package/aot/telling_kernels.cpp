#include "telling_kernels.h"

#include <imbrex/generator.hpp>

using namespace imbrex::aot_kernels;

// On one line, as a macro makes them.
#define IMBREX_BOTH(one, other)                                                                    \
  IMBREX_KERNEL(one, one{});                                                                       \
  IMBREX_KERNEL(other, other{})
IMBREX_BOTH(told, shown);
IMBREX_KERNEL(flooding, flooding{});
// telling.json says that numbers from 10 on are printed.
IMBREX_KERNEL(counted, counted<false>{});
IMBREX_KERNEL_CONFIG(counted, loud, counted<true>{});
