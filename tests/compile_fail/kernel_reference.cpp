#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel() {
  trace([](const ptr<f32> &p) { store(p, 1); });
#ifdef IMBREX_SHOULD_FAIL // expect: a kernel takes its parameters by value or by const reference
  trace([](ptr<f32> &p) { store(p, 1); });
#else
  trace([](ptr<f32> p) { store(p, 1); });
#endif
}
// errors: 1
