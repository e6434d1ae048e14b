#include <imbrex/imbrex.hpp>
using namespace imbrex;

struct with_number {
#ifdef IMBREX_SHOULD_FAIL
  void operator()(ptr<f32> p, int) const { store(p, 1); }
#else
  void operator()(ptr<f32> p, scalar<i32>) const { store(p, 1); }
#endif
};
struct with_result {
#ifdef IMBREX_SHOULD_FAIL
  int operator()(ptr<f32>) const { return 0; }
#else
  void operator()(ptr<f32>) const {}
#endif
};
struct with_count {
#ifdef IMBREX_SHOULD_FAIL
  void operator()(ptr<i32>) noexcept {}
#else
  void operator()(ptr<i32>) const noexcept {}
#endif
};

void make() {
  jit(with_number{}); // expect: a kernel's parameter is a ptr<T>, a view<T, Rank>, a table<T> or a scalar<T>
  jit(with_result{}); // expect: a kernel returns nothing; it stores its results
  jit(with_count{}); // expect: a kernel's operator\(\) is const
}
// errors: 3
