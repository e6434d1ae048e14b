#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f16, 8, 8> a, tile<bf16, 8, 8> b) {
#ifdef IMBREX_SHOULD_FAIL // expect: dot\(a, b\) needs one element type on both sides
  dot(a, b);
#else
  dot(a, cast<f16>(b));
#endif
}
