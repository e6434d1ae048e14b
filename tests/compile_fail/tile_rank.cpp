#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel() {
#ifdef IMBREX_SHOULD_FAIL // expect: a tile has at most 5 axes
  zeros<f32, 1, 1, 1, 1, 1, 1>();
#else
  zeros<f32, 1, 1, 1, 1, 1>();
#endif
}
