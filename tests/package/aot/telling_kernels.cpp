#include "telling_kernels.h"

#include <imbrex/generator.hpp>

using namespace imbrex::aot_kernels;

IMBREX_KERNEL(told, told{});
IMBREX_KERNEL(shown, shown{});
IMBREX_KERNEL(flooding, flooding{});
// telling.json says that numbers from 10 on are printed.
IMBREX_KERNEL(counted, counted<false>{});
IMBREX_KERNEL_CONFIG(counted, loud, counted<true>{});
