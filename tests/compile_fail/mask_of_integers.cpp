#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(ptr<i32> p, tile<i32> m) {
#ifdef IMBREX_SHOULD_FAIL
  load(p, m); // expect: a mask is a bool tile, such as i < n
  load(p, 1, 0); // expect: a mask is a bool tile, such as i < n
  store(p, m, 1U); // expect: a mask is a bool tile, such as i < n
#else
  load(p, m != 0);
  load(p, true, 0);
  store(p, m, false);
  atomic_add(p, m, true);
#endif
}
// errors: 3
