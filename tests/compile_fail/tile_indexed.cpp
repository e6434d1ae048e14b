#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32, 4> t, ptr<i32> p) {
#ifdef IMBREX_SHOULD_FAIL
  auto x = t[3]; // expect: tiles and pointers have no \[\]: slice<axis, first, extent>\(t\)
  p[0] = 1; // expect: load\(p \+ i\) and store\(p \+ i, x\) reach memory
  *p = 2; // expect: a kernel's pointer has no \*: write load\(p\) and store\(p, x\)
#else
  auto x = slice<0, 3, 1>(t);
  store(p, 1);
#endif
}
