#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f8e4m3fn, 4> a, tile<f8e5m2, 4> b) {
#ifdef IMBREX_SHOULD_FAIL // expect: f8, f4 and e8m0 tiles have no arithmetic
  auto c = a + b;
#else
  auto c = cast<f32>(a) + cast<f32>(b);
#endif
}
