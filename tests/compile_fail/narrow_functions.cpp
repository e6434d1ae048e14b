#include <imbrex/dsl.hpp>
using namespace imbrex;

// An element type each: of one type the compiler says it once.
#ifdef IMBREX_SHOULD_FAIL
template <class T>
using computed = tile<T, 4>;
#else
template <class T>
using computed = tile<f32, 4>;
#endif

void kernel(computed<f8e4m3fn> a, computed<f8e5m2> b, computed<f8e4m3fnuz> c,
            computed<f8e5m2fnuz> d, computed<f4e2m1> e, computed<e8m0> f) {
  auto magnitude = abs(a); // expect: f8, f4 and e8m0 tiles have no arithmetic
  auto least = min(b, b); // expect: f8, f4 and e8m0 tiles have no arithmetic
  auto kept = clamp(c, -1, 1); // expect: f8, f4 and e8m0 tiles have no arithmetic
  auto quotient = fdiv(d, d); // expect: f8, f4 and e8m0 tiles have no arithmetic
  auto halved = e / 2; // expect: f8, f4 and e8m0 tiles have no arithmetic
  auto most = max(f, 1); // expect: f8, f4 and e8m0 tiles have no arithmetic
}
