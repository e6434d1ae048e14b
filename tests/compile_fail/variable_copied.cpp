#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: deleted
  var b = a;
  auto c = b;
#else
  var b = a;
  var c = b.get();
#endif
}
