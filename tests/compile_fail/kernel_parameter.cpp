#include <imbrex/dsl.hpp>

#include <string>
#include <vector>
using namespace imbrex;

void kernel() {
#ifdef IMBREX_SHOULD_FAIL
  trace([](ptr<f32> p, float s) { store(p, s); }); // expect: a kernel's parameter is a ptr<T>, a view<T, Rank>, a table<T> or a scalar<T>
  trace([](ptr<f32> p, std::vector<float>) { store(p, 1); }); // expect: a kernel's parameter is
  trace([](ptr<f32> p, std::string) { store(p, 1); }); // expect: goes into captures, members or template arguments
  trace([](ptr<f32> p, tile<f32, 8> s) { store(p, sum(s)); }); // expect: a kernel's parameter is
#else
  const float s = 1;
  trace([=](ptr<f32> p) { store(p, s); });
  trace([](ptr<f32> p, scalar<f32> x) { store(p, x); });
#endif
}
// errors: 4
