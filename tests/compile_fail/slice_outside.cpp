#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 8> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: reaches outside of the tile
  slice<0, 4, 8>(a);
#else
  slice<0, 4, 4>(a);
#endif
}
