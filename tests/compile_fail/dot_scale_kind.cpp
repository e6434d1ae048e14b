#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f16, 8, 64> a, tile<f4e2m1, 64, 8> b, tile<f8e4m3fn, 8, 4> scale) {
#ifdef IMBREX_SHOULD_FAIL // expect: scales of f8e4m3fn are for elements of f4e2m1 and f8
  dot_scaled(a, scale, b, scale);
#else
  dot_scaled(a, no_scale, b, scale);
#endif
}
