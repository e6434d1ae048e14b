#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 64, 32> a, tile<f32, 16, 64> b, tile<f32, 32, 64> c) {
#ifdef IMBREX_SHOULD_FAIL // expect: dot\(a, b\) needs a's columns to equal b's rows
  dot(a, b);
#else
  dot(a, c);
#endif
}
