#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f8e4m3fn, 4> x, ptr<f32> p) {
#ifdef IMBREX_SHOULD_FAIL
  auto y = sort(x); // expect: what is sorted by are bools, integers or floats of 16 bits and more
  auto z = argsort(p + arange<0, 4>()); // expect: what is sorted by are bools, integers or floats
  device_print("p", p); // expect: device_print shows numbers, and no pointers
#else
  auto y = sort(cast<f16>(x));
  auto z = argsort(load(p + arange<0, 4>()));
  device_print("p", load(p));
#endif
}
