#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel() {
#ifdef IMBREX_SHOULD_FAIL
  var a; // expect: a `var` has a value from the start: var v = zeros<f32, 64>\(\), var v = scalar<i32>\(0\)
  var<tile<f32, 4>> b; // expect: a `var` has a value from the start: var<tile<f32, 64>> v = 0
#else
  var a = zeros<f32, 4>();
  var<tile<f32, 4>> b = 0;
#endif
}
// errors: 2
