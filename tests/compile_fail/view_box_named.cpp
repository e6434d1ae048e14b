#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<i32, 1> v) {
  auto here = v[box<4>(0)];
#ifdef IMBREX_SHOULD_FAIL
  here += 1; // expect: a named box is the value that was read
  here = v[box<4>(1)]; // expect: to store, write view\[box<...>\(...\)\] = ...
#else
  var copy = here;
  copy += 1;
  v[box<4>(0)] += copy;
  v[box<4>(1)] = here;
  v[box<4>(2)] = v[box<4>(3)];
#endif
}
