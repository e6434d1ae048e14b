#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel() {
#ifdef IMBREX_SHOULD_FAIL // expect: a kernel's operator\(\) is const
  trace([count = 0](ptr<i32> p) mutable { store(p, ++count); });
#else
  trace([count = 0](ptr<i32> p) { store(p, count); });
#endif
}
// errors: 1
