#include <imbrex/generator.hpp>

IMBREX_KERNEL(clear, [](imbrex::view<float, 1> x) { x[imbrex::box<64>(0)] = 0.0f; });
IMBREX_KERNEL(load, [](imbrex::view<float, 1> x) { x[imbrex::box<64>(0)] = 1.0f; });
