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
IMBREX_KERNEL(groups, groups{});
// tuned.json says when; one is named before its kernel, and one that no row names is not compiled.
IMBREX_KERNEL_CONFIG(chosen, large, chosen<1, 256>{}, {.warps = 2});
IMBREX_KERNEL(chosen, chosen<0, 32>{});
IMBREX_KERNEL_CONFIG(chosen, odd, chosen<2, 64>{});
IMBREX_KERNEL_CONFIG(chosen, pairs, chosen<3, 64>{});
IMBREX_KERNEL_CONFIG(chosen, there, chosen<6, 128>{});
IMBREX_KERNEL_CONFIG(chosen, here, chosen<4, 128>{});
IMBREX_KERNEL(marked, marked<0>{});
IMBREX_KERNEL_CONFIG(marked, hundreds, marked<1000>{});
IMBREX_KERNEL(bounded, bounded<0>{});
IMBREX_KERNEL_CONFIG(bounded, few, bounded<1>{});
IMBREX_KERNEL_CONFIG(chosen, never, chosen<5, 64>{});
