#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(ptr<f16> p) {
#ifdef IMBREX_SHOULD_FAIL // expect: f16 and bf16 have atomic_add alone
  atomic_max(p, 1);
#else
  atomic_add(p, 1);
#endif
}
