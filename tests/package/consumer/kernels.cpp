#include <imbrex/generator.hpp>

IMBREX_KERNEL(twice, [](imbrex::view<const float, 1> x, imbrex::view<float, 1> y) {
  const auto here = imbrex::box<64>(imbrex::program_id(0));
  y[here] = x[here] * 2.0f;
});
