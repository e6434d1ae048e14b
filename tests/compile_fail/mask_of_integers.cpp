#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(ptr<i32> p, tile<i32> m) {
#ifdef IMBREX_SHOULD_FAIL // expect: a mask is a bool tile
  load(p, m);
#else
  load(p, m != 0);
#endif
}
