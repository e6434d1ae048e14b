#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(ptr<i32> p) {
#ifdef IMBREX_SHOULD_FAIL // expect: this condition is known to the host; use C\+\+'s own if
  IMBREX_IF(sizeof(p) > 4)
  store(p, 1);
#else
  if (sizeof(p) > 4) store(p, 1);
#endif
}
// errors: 1
