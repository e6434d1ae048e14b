#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 8> x, scalar<i32> n) {
#ifdef IMBREX_SHOULD_FAIL
  float s = 0;
  s += sum(x); // expect: keep the sum in a var: var s = scalar<f32>\(0\)
  int count = 1;
  count *= n; // expect: a number of C\+\+ cannot be changed by a tile
#else
  var s = scalar<f32>(0);
  s += sum(x);
  var count = scalar<i32>(1);
  count *= n;
#endif
}
// errors: 2
