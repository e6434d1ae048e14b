#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4, 8> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: reshape keeps the number of elements
  reshape<16>(a);
#else
  reshape<32>(a);
#endif
}
