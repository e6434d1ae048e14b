#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f16, 4> a, tile<f32, 4> b) {
#ifdef IMBREX_SHOULD_FAIL // expect: does not fit into the tile's without loss
  var c = a;
  c += b;
#else
  var c = a;
  c += cast<f16>(b);
#endif
}
