#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<i32, 1> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: only float elements can be padded with NaN
  a[box<4>(0).pad_nan()];
#else
  a[box<4>(0).pad(-1)];
#endif
}
