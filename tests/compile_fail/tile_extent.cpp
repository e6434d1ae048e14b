#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel() {
#ifdef IMBREX_SHOULD_FAIL // expect: an extent of a tile is at least 1
  zeros<f32, 0>();
#else
  zeros<f32, 1>();
#endif
}
