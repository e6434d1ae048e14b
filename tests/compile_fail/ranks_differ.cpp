#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4, 8> a, tile<f32, 8> b) {
#ifdef IMBREX_SHOULD_FAIL // expect: tiles of different rank do not combine; add an axis with expand
  auto d = a + b;
#else
  auto d = a + expand<0>(b);
#endif
}
