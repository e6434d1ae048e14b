#include "kernels.h"

#include <imbrex/generator.hpp>

using namespace imbrex::aot_kernels;

IMBREX_KERNEL(add, add{});
IMBREX_KERNEL(scale, scale{});
IMBREX_KERNEL(numbers, numbers{});
IMBREX_KERNEL(softmax, softmax{});
IMBREX_KERNEL(product, product{}, {.warps = 4});
IMBREX_KERNEL(halve, halve{});
IMBREX_KERNEL(tiles, tiles{});
