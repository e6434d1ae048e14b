#include <imbrex/dsl.hpp>
using namespace imbrex;

// Each element type has its own message, for each place that a value is given to.
void kernel(tile<f32, 1, 8> row, tile<f32, 4, 1> column, tile<f16, 1, 8> halves,
            tile<i32, 1, 8> counts) {
  var a = zeros<f32, 4, 8>();
  var b = zeros<f16, 4, 8>();
  var c = zeros<i32, 4, 8>();
#ifdef IMBREX_SHOULD_FAIL
  for (auto k : range(4)) {
    IMBREX_IF(k > 2) { a += row; } // expect: write v = v \+ x for v \+= x, or broadcast<extents...>\(x\)
  }
  b = halves; // expect: the value has fewer elements than the tile or variable it is given to
  c *= counts; // expect: only operators repeat a value
  tile<f32, 4, 8> t = column; // expect: the value has fewer elements
#else
  for (auto k : range(4)) {
    IMBREX_IF(k > 2) { a = a + row; }
  }
  b = broadcast<4, 8>(halves);
  c = c * counts;
  tile<f32, 4, 8> t = broadcast<4, 8>(column);
#endif
}
