#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32> a, ptr<i32> p) {
#ifdef IMBREX_SHOULD_FAIL // expect: a tile has no value while the kernel is traced
  if (a > 0) store(p, a);
#else
  IMBREX_IF(a > 0)
  store(p, a);
#endif
}
