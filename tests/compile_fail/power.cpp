#include <imbrex/dsl.hpp>

#include <cmath>
using namespace imbrex;

void kernel(tile<f32, 4> x, scalar<f32> y) {
#ifdef IMBREX_SHOULD_FAIL
  auto a = pow(x, 2); // expect: there is no pow: write x \* x or sqrt\(x\), and for other powers of
  auto b = pow(2, x); // expect: exp2\(y \* log2\(x\)\), which rounds three times
  auto c = pow(x, y); // expect: there is no pow
#else
  auto a = x * x;
  auto b = exp2(x);
  auto c = exp2(y * log2(x));
#endif
  auto d = x * static_cast<float>(pow(2.0, 0.5)); // of the host
}
// errors: 3
