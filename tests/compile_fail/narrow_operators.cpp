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
  auto doubled = a * 2; // expect: f8, f4 and e8m0 tiles have no arithmetic
  auto sum = b + b; // expect: f8, f4 and e8m0 tiles have no arithmetic
  auto negated = -c; // expect: f8, f4 and e8m0 tiles have no arithmetic
  auto positive = d > 0; // expect: f8, f4 and e8m0 tiles have no arithmetic
  auto equal = e == e; // expect: f8, f4 and e8m0 tiles have no arithmetic
  auto product = f * f; // expect: f8, f4 and e8m0 tiles have no arithmetic
}
