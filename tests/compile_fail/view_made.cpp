#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(table<const f32> x, ptr<f32> p, scalar<i32> n, scalar<f32> half) {
  auto i = arange<0, 8>();
#ifdef IMBREX_SHOULD_FAIL
  view<const f32, 2> a(x[n], {n}); // expect: a view has an extent for each of its axes, and a stride for each
  view<const f32, 2> b(x[n], {n, 4}, {4}); // expect: a view has an extent for each of its axes, and a stride for each
  view<f32, 1> c(x[n], {n}); // expect: what lies behind a pointer to const elements cannot be stored to
  view<i32, 1> d(p, {n}); // expect: the view's elements have another type than those behind the pointer
  view<f32, 1> e(p + i, {n}); // expect: a view is made of the pointer to its first element, and not of many
  view<f32, 1> f(half, {n}); // expect: a view is made of a pointer
  view<f32, 1> g(p, {half}); // expect elsewhere: the extents and strides of a view are integers
  view h(x[n], {n, 4});
  h[box<4, 4>(0, 0)] = 1; // expect: a view of const elements cannot be stored to
#else
  view<const f32, 2> a(x[n], {n, 4});
  view<const f32, 2> b(x[n], {n, 4}, {cast<i64>(n) * 4, 1});
  view<const f32, 1> c(p, {n});
  view<f32, 1> d(p + n, {8});
  view e(p, {n, n, n});
  e[box<4, 4, 4>(0, 0, 0)] = 1;
#endif
}
