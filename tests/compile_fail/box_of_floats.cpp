#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<f32, 1> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: a box's coordinates are integers
  a[box<4>(0.5)];
#else
  a[box<4>(1)];
#endif
}
