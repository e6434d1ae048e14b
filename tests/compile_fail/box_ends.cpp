#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<f32, 2> a, view<f4e2m1, 1> b, scalar<i32> n) {
#ifdef IMBREX_SHOULD_FAIL
  auto x = a[box<4, 4>(0, 0).within(n)]; // expect: within\(ends...\) needs one end for each axis
  auto y = a[box<4, 4>(0, 0).within(n, 2.5)]; // expect: the ends of a box are integers
  auto z = b[box<4>(0).within(n)]; // expect: two f4e2m1 share a byte, and within\(...\) goes element by element
#else
  auto x = a[box<4, 4>(0, 0).within(n, 7)];
  auto z = b[box<4>(0)];
#endif
}
