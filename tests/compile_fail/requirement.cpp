#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<f32, 1> a, view<f32, 1> b, int n) {
#ifdef IMBREX_SHOULD_FAIL
  require(n == 3, "n is 3"); // expect: what the host knows is tested by C\+\+'s own assert
  require(a.extent(0) == b.extent(0)); // expect: require takes a condition of the kernel's arguments and a text
  require(a[box<4>(0)] > 0, "all are positive"); // expect: require tests a scalar bool
#else
  require(a.extent(0) == b.extent(0), "as many of each");
  require(a.extent(0) == n, "n of a");
#endif
}
// errors: 3
