#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32> a) {
  var i = a;
#ifdef IMBREX_SHOULD_FAIL
  ++i; // expect: a `var` has no \+\+ and no --; write v \+= 1 and v -= 1
#else
  i += 1;
#endif
}
