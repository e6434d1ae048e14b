#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<f32, 1> v, tile<f32, 8> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: the stored tile and the box have different shapes
  v[box<4>(0)] = a;
#else
  v[box<8>(0)] = a;
#endif
}
