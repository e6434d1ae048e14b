#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f8e5m2, 8, 64> a, tile<f4e2m1, 64, 8> b, tile<e8m0, 8, 2> scale, tile<f32, 8, 8> sum) {
#ifdef IMBREX_SHOULD_FAIL
  dot_scaled(a, b); // expect: dot_scaled takes a scale behind each matrix: dot_scaled\(a, scale_a, b, scale_b\), where no_scale
  dot_scaled(a, b, sum); // expect: dot_scaled takes a scale behind each matrix: dot_scaled\(a, scale_a, b, scale_b\), where no_scale
  dot_scaled(a, scale, b); // expect: dot_scaled takes a scale behind each matrix: dot_scaled\(a, scale_a, b, scale_b\), where no_scale
  dot_scaled(a, no_scale, b); // expect: dot_scaled takes a scale behind each matrix: dot_scaled\(a, scale_a, b, scale_b\), where no_scale
#else
  dot_scaled(a, no_scale, b, no_scale);
  dot_scaled(a, no_scale, b, no_scale, sum);
  dot_scaled(a, scale, b, no_scale);
  dot_scaled(a, no_scale, b, scale);
#endif
}
// errors: 4
