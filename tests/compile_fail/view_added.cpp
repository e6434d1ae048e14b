#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<const f32, 1> a, view<const f32, 1> b) {
  auto i = program_id(0);
#ifdef IMBREX_SHOULD_FAIL
  auto sum = a + b; // expect: a view is memory and has no value: read a box of it, a\[box<64>\(i\)\]
  auto twice = 2 * a; // expect: a view is memory and has no value
#else
  auto sum = a[box<4>(i)] + b[box<4>(i)];
  auto twice = 2 * a[box<4>(i)];
#endif
}
// errors: 2
