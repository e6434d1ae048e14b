#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32, 4> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: this function works on f16, bf16, f32 and f64
  exp(a);
#else
  exp(cast<f32>(a));
#endif
}
