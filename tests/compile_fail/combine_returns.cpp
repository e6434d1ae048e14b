#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32, 4> a, ptr<i32> p) {
#ifdef IMBREX_SHOULD_FAIL
  // expect: a combine returns what it makes of its operands
  store(p, reduce<0>(a, [](auto x, auto y) { x + y; }));
  // expect: a combine returns what it makes of its operands
  auto b = scan<0>(a, [](auto x, auto y) { x + y; });
#else
  store(p, reduce<0>(a, [](auto x, auto y) { return x + y; }));
  auto b = scan<0>(a, [](auto x, auto y) { return x + y; });
#endif
}
