#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32, 4> a, tile<f32, 4> b) {
#ifdef IMBREX_SHOULD_FAIL // expect: a combine takes two scalars for each tile: f\(a, b\) for one
  auto [x, y] = reduce<0>(std::tuple{a, b}, [](auto p, auto q) { return std::tuple{p, q}; });
#else
  auto [x, y] = reduce<0>(std::tuple{a, b}, [](auto p, auto q, auto r, auto s) {
    return std::tuple{p + r, q * s};
  });
#endif
}
