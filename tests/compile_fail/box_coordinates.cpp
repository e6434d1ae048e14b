#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<f32, 2> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: needs one coordinate per extent
  a[box<4, 4>(0)];
#else
  a[box<4, 4>(0, 0)];
#endif
}
