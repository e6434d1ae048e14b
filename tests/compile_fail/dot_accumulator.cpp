#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f16, 8, 8> a, tile<f16, 8, 8> acc) {
#ifdef IMBREX_SHOULD_FAIL // expect: the accumulator of dot is i32 for i8 and u8
  dot(a, a, acc);
#else
  dot(a, a, cast<f32>(acc));
#endif
}
