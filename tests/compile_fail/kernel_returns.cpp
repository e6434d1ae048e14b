#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel() {
#ifdef IMBREX_SHOULD_FAIL // expect: a kernel returns nothing; it stores its results
  trace([](ptr<f32> p) { return load(p); });
#else
  trace([](ptr<f32> p) { load(p); });
#endif
}
