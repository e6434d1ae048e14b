#include <imbrex/dsl.hpp>
using namespace imbrex;

// As arguments of C++ that stand in ().
void kernel(tile<f32, 4, 1> x) {
#ifdef IMBREX_SHOULD_FAIL
  auto a = broadcast(x, 4, 8); // expect: axes, extents and counts are known when C\+\+ compiles, and stand in <>: broadcast<extents...>\(x\)
  auto b = reshape(x, 2, 2); // expect: stand in <>: reshape<extents...>\(x\)
  auto c = permute(x, 1, 0); // expect: stand in <>: permute<order...>\(x\)
  auto d = expand(x, 0); // expect: stand in <>: expand<axis>\(x\)
  auto e = squeeze(x); // expect: stand in <>: squeeze<axis>\(x\)
  auto f = concatenate(x, x); // expect: stand in <>: concatenate<axis>\(a, b\)
  auto g = slice(x, 0, 1, 2); // expect: stand in <>: slice<axis, first, extent>\(x\)
  auto h = flip(x, 0); // expect: stand in <>: flip<axis>\(x\)
#else
  auto a = broadcast<4, 8>(x);
  auto b = reshape<2, 2>(x);
  auto c = permute<1, 0>(x);
  auto d = expand<0>(x);
  auto e = squeeze<1>(x);
  auto f = concatenate<0>(x, x);
  auto g = slice<0, 1, 2>(x);
  auto h = flip<0>(x);
#endif
}
// errors: 8
