#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(ptr<i32> p, scalar<i32> n) {
#ifdef IMBREX_SHOULD_FAIL
  // expect: (.else. without a previous .if.|expected expression)
  IMBREX_ELSE { store(p, 1); }
}
void other(ptr<i32> p, scalar<i32> n) {
  IMBREX_IF(n > 0) { store(p, 1); }
  IMBREX_ELSE { store(p, 2); }
  // expect: (.else. without a previous .if.|expected expression)
  IMBREX_ELSE { store(p, 3); }
#else
  IMBREX_IF(n > 0) { store(p, 1); }
  IMBREX_ELSE_IF(n < -5) { store(p, 2); }
  IMBREX_ELSE { store(p, 3); }
#endif
}
