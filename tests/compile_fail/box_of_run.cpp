#include <imbrex/dsl.hpp>
using namespace imbrex;

// A compiler's own words, but few.
void kernel(view<f32, 1> v, view<f32, 2> w, int n, scalar<i32> i) {
  constexpr int known = 16;
#ifdef IMBREX_SHOULD_FAIL
  auto x = v[box<n>(0)]; // expect: ‘?'?n’?'? is not a constant expression|argument is not a constant expression
  auto y = w[box_at<known, n>(0, 0)]; // expect: ‘?'?n’?'? is not a constant expression|argument is not a constant expression
#else
  auto x = v[box<known>(0)];
  auto y = w[box_at<known, 4>(i, 0)];
#endif
}
// errors: 2
