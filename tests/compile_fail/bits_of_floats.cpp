#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: work on integers and bools
  auto b = a & 1;
#else
  auto b = bitcast<i32>(a) & 1;
#endif
}
