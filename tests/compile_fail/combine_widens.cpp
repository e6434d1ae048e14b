#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f16, 4> a, tile<i32, 4> b) {
#ifdef IMBREX_SHOULD_FAIL
  // expect: the value's element type does not fit into the tile's without loss; use cast
  auto x = reduce<0>(a, [](auto p, auto q) { return p + cast<f32>(q); });
  // expect: the number's fraction would be lost
  auto y = scan<0>(b, 0.5, [](auto p, auto q) { return p + q; });
#else
  auto x = reduce<0>(a, [](auto p, auto q) { return cast<f16>(p + cast<f32>(q)); });
  auto y = scan<0>(b, 1, [](auto p, auto q) { return p + q; });
#endif
}
