#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4, 2> x) {
#ifdef IMBREX_SHOULD_FAIL
  auto [m, n] = program_id(0); // expect: a tile is one value, which has no parts to name; program_id<2>\(\), split, topk and others give several
  const auto [a, b] = x; // expect: auto \[m, n\] = program_id<2>\(\)
#else
  auto [m, n] = program_id<2>();
  const auto [a, b] = split(x);
#endif
}
