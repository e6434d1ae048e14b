#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(view<const f32, 1> a, view<i32, 1> c, tile<i32, 4> x) {
  auto i = program_id(0);
#ifdef IMBREX_SHOULD_FAIL
  auto loaded = load(a + i); // expect: a view is no pointer; view.data\(\) is the one
  store(c, x); // expect: store goes through a pointer, such as view.data\(\) \+ offsets
  store(x, c.data()); // expect: store goes through a pointer, such as view.data\(\) \+ offsets, which comes first
  atomic_add(c[box<4>(i)], x); // expect: atomic_add goes through a pointer
  atomic_cas(x, 0, 1); // expect: atomic_cas goes through a pointer
#else
  auto loaded = load(a.data() + i);
  store(c.data() + arange<0, 4>(), x);
  atomic_add(c.data() + arange<0, 4>(), x);
#endif
}
