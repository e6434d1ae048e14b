#include "launch_kernels.h"

#include <imbrex/generator.hpp>

IMBREX_KERNEL(pointers, imbrex::launched::pointers{});
IMBREX_KERNEL(views, imbrex::launched::views{});
IMBREX_KERNEL(many, imbrex::launched::many{});
