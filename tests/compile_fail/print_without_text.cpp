#include <imbrex/dsl.hpp>

#include <string>
using namespace imbrex;

void kernel(tile<i32, 4> x, std::string text) {
#ifdef IMBREX_SHOULD_FAIL
  device_print(x); // expect: device_print begins with a text: device_print\("x", x\)
  device_print("x", 3); // expect: device_print shows tiles; a value of the host is known when the kernel is traced
#else
  device_print("x", x);
  device_print(text + "3");
#endif
}
// errors: 2
