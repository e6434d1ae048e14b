#include <imbrex/generator.hpp>

IMBREX_KERNEL(delete, [](imbrex::view<float, 1> x) { x[imbrex::box<64>(0)] = 0.0f; });
IMBREX_KERNEL_CONFIG(none, 2, [](imbrex::view<float, 1> x) { x[imbrex::box<64>(0)] = 0.0f; });
