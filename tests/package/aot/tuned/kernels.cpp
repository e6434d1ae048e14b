#include "../kernels.h"

#include <imbrex/generator.hpp>

using namespace imbrex::aot_kernels;

IMBREX_KERNEL(chosen, chosen<0, 32>{});
IMBREX_KERNEL_CONFIG(chosen, large, chosen<1, 256>{});
IMBREX_KERNEL_CONFIG(chosen, odd, chosen<2, 64>{});
