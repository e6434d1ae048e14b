#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4, 8> a, tile<f32, 4, 4> b, tile<f32, 4, 1> c) {
#ifdef IMBREX_SHOULD_FAIL // expect: the tiles' extents differ along an axis and neither is 1
  auto d = a + b;
#else
  auto d = a + c;
#endif
}
