#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f16, 4> a) {
#ifdef IMBREX_SHOULD_FAIL
  auto b = a + cast<f16>(1.5); // expect: cast works on tiles; of a number of the host make one by
#else
  auto b = a + scalar<f16>(1.5);
#endif
}
