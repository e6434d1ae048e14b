#include <imbrex/generator.hpp>

// Refused when it is traced.
IMBREX_KERNEL(mistaken, [](imbrex::view<float, 1> x) {
  for (auto i : imbrex::range(0, 4)) {
    imbrex::var late = x[imbrex::box<64>(i)];
    x[imbrex::box<64>(i)] = late;
    break;
  }
});
