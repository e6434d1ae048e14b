#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i8, 4> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: the number does not fit into the tile's element type
  tile<i8, 4> b = a + lit<300>;
#else
  tile<i8, 4> b = a + lit<100>;
#endif
}
