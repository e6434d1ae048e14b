#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: does not fit into the tile's without loss
  tile<f16, 4> b = a;
#else
  tile<f16, 4> b = cast<f16>(a);
#endif
}
