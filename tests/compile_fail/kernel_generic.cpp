#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel() {
#ifdef IMBREX_SHOULD_FAIL // expect: `auto` parameters are not known until the launch
  trace([](auto p) { store(p, 1); });
#else
  trace([](ptr<f32> p) { store(p, 1); });
#endif
}
// errors: 1
