#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(table<const f32> x, table<f32> y, scalar<i32> g, scalar<f32> half) {
#ifdef IMBREX_SHOULD_FAIL
  auto next = x + 1; // expect: a table is neither a number nor a pointer: x\[g\] is one of its pointers
  auto twice = x[g] * 2;
  auto all = load(x); // expect: load goes through a pointer
  auto boxed = x[box<1>(g)]; // expect: a table is read by the number of a pointer, an integer
  auto between = x[half]; // expect: a table is read by the number of a pointer, an integer
  auto element = y[g][0]; // expect: tiles and pointers have no \[\]
  y[g] = y[0]; // expect: the pointers of a table are the launch's, and the kernel cannot change them
  store(x[g], 1); // expect: a pointer to const elements cannot be stored through
  tile<f32> number = x[g]; // expect: a pointer is no number; load\(p\) reads what it points to
#else
  auto next = x[g] + 1;
  auto all = load(x[g]);
  store(y[g] + g, all);
  ptr<f32> chosen = where(half > 0, y[g], y[0]);
  store(chosen, half);
#endif
}
