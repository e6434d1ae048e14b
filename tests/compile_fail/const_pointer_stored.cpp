#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(ptr<const f32> p, ptr<f32> q) {
#ifdef IMBREX_SHOULD_FAIL // expect: a pointer to const elements cannot be stored through
  store(p, 1);
#else
  store(q, 1);
#endif
}
