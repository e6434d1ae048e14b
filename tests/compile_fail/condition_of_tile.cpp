#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32, 4> a, ptr<i32> p) {
#ifdef IMBREX_SHOULD_FAIL // expect: the condition must be a scalar bool
  IMBREX_IF(a > 0)
  store(p, 1);
#else
  IMBREX_IF(any(a > 0))
  store(p, 1);
#endif
}
