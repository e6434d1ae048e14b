#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32> n, tile<i32> m) {
#ifdef IMBREX_SHOULD_FAIL // expect: range\(low, high, step\) counts in integers
  range(n);
#else
  range(m);
#endif
}
