#include <imbrex/dsl.hpp>
using namespace imbrex;

void kernel(tile<f32, 8> x) {
#ifdef IMBREX_SHOULD_FAIL
  auto a = max(x, 0, 1); // expect: max takes two operands: max\(a, max\(b, c\)\); between two bounds lies clamp
  auto b = min(0, x, x); // expect: min takes two operands: min\(a, min\(b, c\)\)
  auto c = where(x > 0, x); // expect: where takes three operands: where\(condition, yes, no\)
#else
  auto a = clamp(x, 0, 1);
  auto b = min(0, min(x, x));
  auto c = where(x > 0, x, 0);
#endif
}
// errors: 3
