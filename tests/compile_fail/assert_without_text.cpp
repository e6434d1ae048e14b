#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<i32, 4> x) {
#ifdef IMBREX_SHOULD_FAIL
  device_assert(x > 0); // expect: device_assert takes a tile of bools and a text: device_assert\(x > 0, "x is positive"\)
  device_assert("x is positive", x > 0); // expect: device_assert takes a tile of bools and a text
  device_assert(true, "so it is"); // expect: what the host knows is tested by C\+\+'s own assert
#else
  device_assert(x > 0, "x is positive");
#endif
}
// errors: 3
