#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(ptr<i32> p) {
#ifdef IMBREX_SHOULD_FAIL // expect: a tile cannot be assigned to; declare a `var`
  for (auto k : range(3)) k = k + 1;
#else
  for (auto k : range(3)) store(p, k + 1);
#endif
}
