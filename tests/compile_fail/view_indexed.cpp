#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<const f32, 1> a, view<i32, 1> c, view<f32, 2> d, view<const f32, 2> e) {
  auto i = program_id(0);
#ifdef IMBREX_SHOULD_FAIL
  a[i]; // expect: a view is read and written by boxes: view\[box<extents...>\(coordinates...\)\]
  c[0] = 1; // expect: a view is read and written by boxes
  d(i, 0) = 1; // expect: a view is read and written by boxes
#else
  c[box<4>(i)] = cast<i32>(a[box<4>(i)]);
  d[box<1, 1>(i, 0)] = e[box<1, 1>(0, i)];
#endif
}
