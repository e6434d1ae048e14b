#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4, 8> x, tile<i32, 4, 8> i, tile<bool, 4, 8> c) {
#ifdef IMBREX_SHOULD_FAIL
  auto a = sum(x, 0); // expect: axes, extents and counts are known when C\+\+ compiles, and stand in <>: sum<axis>\(x\)
  auto b = prod(x, 1, keep_dims); // expect: stand in <>: prod<axis>\(x\)
  auto d = reduce_and(i, 0); // expect: stand in <>: reduce_and<axis>\(x\)
  auto e = reduce_or(i, 0); // expect: stand in <>: reduce_or<axis>\(x\)
  auto f = reduce_xor(i, 0); // expect: stand in <>: reduce_xor<axis>\(x\)
  auto g = any(c, 0); // expect: stand in <>: any<axis>\(x\)
  auto h = all(c, -1); // expect: stand in <>: all<axis>\(x\)
  auto j = argmin(x, 0); // expect: stand in <>: argmin<axis>\(x\)
  auto k = argmax(x, 0); // expect: stand in <>: argmax<axis>\(x\)
  auto l = reduce(x, [](auto p, auto q) { return p + q; }); // expect: stand in <>: reduce<axis>\(x, combine\)
  auto m = cumsum(x); // expect: stand in <>: cumsum<axis>\(x\)
  auto n = cumprod(x, 0); // expect: stand in <>: cumprod<axis>\(x\)
  auto o = cummin(x, 0); // expect: stand in <>: cummin<axis>\(x\)
  auto p = cummax(x, 0, reverse); // expect: stand in <>: cummax<axis>\(x\)
  auto q = scan(x, 0, [](auto p, auto q) { return p + q; }); // expect: stand in <>: scan<axis>\(x, combine\)
#else
  auto a = sum<0>(x) + sum(x) + sum(x, deterministic);
  auto b = prod<1>(x, keep_dims);
  auto w = min(x, 0) + max(x, 1); // the smaller of two numbers
#endif
}
// errors: 15
