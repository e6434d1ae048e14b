#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32> a, tile<i32> b) {
#ifdef IMBREX_SHOULD_FAIL // expect: a tile cannot be assigned to; declare a `var`
  a = b;
#else
  var c = a;
  c = b;
#endif
}
