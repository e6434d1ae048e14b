#include "tests/package/aot/attributed/kernels.h"
#include <imbrex/generator.hpp>

using namespace imbrex::aot_kernels;

IMBREX_KERNEL(gathered, gathered{});
IMBREX_KERNEL(paired, paired{});
IMBREX_KERNEL(sixteen, sixteen{});
IMBREX_KERNEL(chained, chained{});
