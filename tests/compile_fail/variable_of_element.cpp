#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel() {
#ifdef IMBREX_SHOULD_FAIL
  var<f32> a(0); // expect: a `var` holds a tile or a scalar: var v = scalar<f32>\(0\), var<scalar<f32>> v = 0
  var<i32> b = 0; // expect: a `var` holds a tile or a scalar
#else
  var<scalar<f32>> a(0);
  var b = scalar<i32>(0);
#endif
}
// errors: 2
