#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32, 4> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: && \|\| ! work on bool tiles
  auto b = a && a;
#else
  auto b = (a != 0) && (a != 1);
#endif
}
