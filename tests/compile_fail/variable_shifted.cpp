#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32> a) {
  var v = a;
#ifdef IMBREX_SHOULD_FAIL // expect: a `var` has no <<= and no >>=; write v = v << n and v = v >> n
  v <<= 2;
#else
  v = v << 2;
#endif
}
