#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4> a, tile<f32, 8> b) {
#ifdef IMBREX_SHOULD_FAIL // expect: the value has another shape than the tile or variable
  var c = a;
  c = b;
#else
  var c = a;
  c = a;
#endif
}
