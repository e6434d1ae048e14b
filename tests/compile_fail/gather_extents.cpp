#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4, 4> a, tile<i32, 2, 2> i, tile<i32, 2, 4> j) {
#ifdef IMBREX_SHOULD_FAIL // expect: gather needs indices of x's rank and extents
  gather<0>(a, i);
#else
  gather<0>(a, j);
#endif
}
