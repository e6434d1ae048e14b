#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<f32, 1> y, scalar<i32> i) {
#ifdef IMBREX_SHOULD_FAIL
  tile<f32, 64> t; // expect: a tile has its value from the start and keeps it
  scalar<i32> next; // expect: for what changes declare a `var`
#else
  tile<f32, 64> t = 0;
  scalar<i32> next = i + 1;
#endif
  y[box<64>(next)] = t;
}
// errors: 2
