#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: the tile has no such axis
  sum<1>(a);
#else
  sum<0>(a);
#endif
}
