#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<i8, 1> v, tile<i32, 4> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: does not fit into the view's without
  v[box<4>(0)] = a;
#else
  v[box<4>(0)] = cast<i8>(a);
#endif
}
