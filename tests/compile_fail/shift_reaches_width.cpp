#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32, 4> a) {
#ifdef IMBREX_SHOULD_FAIL // expect: the shift is negative or reaches the width
  tile<i32, 4> b = a << lit<32>;
#else
  tile<i32, 4> b = a << lit<31>;
#endif
}
