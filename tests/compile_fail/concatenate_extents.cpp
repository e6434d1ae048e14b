#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4, 8> a, tile<f32, 2, 8> b) {
#ifdef IMBREX_SHOULD_FAIL // expect: needs equal extents along the other axes
  concatenate<1>(a, b);
#else
  concatenate<0>(a, b);
#endif
}
