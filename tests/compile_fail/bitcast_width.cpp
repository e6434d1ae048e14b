#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: bitcast needs element types of the same number of bits
  bitcast<i64>(a);
#else
  bitcast<i32>(a);
#endif
}
