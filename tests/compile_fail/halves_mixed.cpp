#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f16, 4> a, tile<bf16, 4> b) {
#ifdef IMBREX_SHOULD_FAIL // expect: f16 and bf16 do not mix
  auto c = a + b;
#else
  auto c = a + cast<f16>(b);
#endif
}
