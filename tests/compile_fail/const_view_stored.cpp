#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<const f32, 1> a, view<f32, 1> b) {
#ifdef IMBREX_SHOULD_FAIL // expect: a view of const elements cannot be stored to
  a[box<4>(0)] = 1;
#else
  b[box<4>(0)] = 1;
#endif
}
