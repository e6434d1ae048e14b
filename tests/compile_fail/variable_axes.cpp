#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 4, 8> a, tile<f32, 8> row) {
  var v = a;
#ifdef IMBREX_SHOULD_FAIL // expect: the value has another number of axes than the tile or variable.* expand<axis>
  v += row;
#else
  v = v + expand<0>(row);
#endif
}
