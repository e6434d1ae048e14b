#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<f32, 1> v, view<f32, 1> w, tile<f32, 1> one) {
#ifdef IMBREX_SHOULD_FAIL
  v[box<4>(0)] = w; // expect: a view is read and written by boxes
  v[box<4>(0)] += "text"; // expect: this is neither a tile, nor an expression of tiles, nor a number
  v[box<8>(0)] = one; // expect: have different shapes; broadcast<extents...>\(x\) repeats a tile
#else
  v[box<4>(0)] = w[box<4>(0)];
  v[box<4>(0)] += 1;
  v[box<8>(0)] = broadcast<8>(one);
#endif
}
// errors: 3
