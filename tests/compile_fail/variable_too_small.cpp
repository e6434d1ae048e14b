#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4, 8> large, tile<f16, 4, 8> halves) {
#ifdef IMBREX_SHOULD_FAIL
  var a = zeros<f32>();
  a += large * 2; // expect: the value has more elements than the tile or variable it is given to
  var b = zeros<f16, 1, 8>();
  b -= halves; // expect: declare that in the value's shape, as var v = zeros<T, extents...>\(\), or reduce
#else
  var a = zeros<f32>();
  a += sum(large * 2);
  var b = zeros<f16, 4, 8>();
  b -= halves;
#endif
}
