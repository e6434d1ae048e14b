#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f8e5m2, 8, 64> a, tile<f8e5m2, 64, 8> b, tile<e8m0, 8, 1> one, tile<e8m0, 8, 2> two) {
#ifdef IMBREX_SHOULD_FAIL // expect: scales of dot_scaled are \[M, K / 32\]
  dot_scaled(a, one, b, two);
#else
  dot_scaled(a, two, b, two);
#endif
}
