#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f8e4m3fn, 4> a, tile<f8e5m2, 4> b) {
#ifdef IMBREX_SHOULD_FAIL
  var v = a;
  v += a; // expect: f8, f4 and e8m0 tiles have no arithmetic
  var w = b;
  w *= b; // expect: f8, f4 and e8m0 tiles have no arithmetic
#else
  var v = cast<f32>(a);
  v += cast<f32>(b);
#endif
}
