#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(ptr<i8> p, ptr<i32> q) {
#ifdef IMBREX_SHOULD_FAIL // expect: atomics on integers need 32 or 64 bits
  atomic_add(p, 1);
#else
  atomic_add(q, 1);
#endif
}
