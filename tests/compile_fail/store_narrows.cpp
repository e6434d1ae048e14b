#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(ptr<f16> p, tile<f32> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: does not fit into the pointer's without
  store(p, a);
#else
  store(p, cast<f16>(a));
#endif
}
