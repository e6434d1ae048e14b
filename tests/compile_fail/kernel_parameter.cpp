#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel() {
#ifdef IMBREX_SHOULD_FAIL // expect: a kernel's parameter is a ptr<T>, a view<T, Rank> or a scalar<T>
  trace([](ptr<f32> p, float s) { store(p, s); });
#else
  trace([](ptr<f32> p, scalar<f32> s) { store(p, s); });
#endif
}
