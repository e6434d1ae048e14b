#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<f32, 2> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: the box and the view have different ranks
  a[box<4>(0)];
#else
  a[box<4, 1>(0, 0)];
#endif
}
