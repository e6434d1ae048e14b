#include <imbrex/dsl.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
using namespace imbrex;

// Of one type the compiler says it once.
void kernel(tile<f32, 4> a, tile<f32, 8> b, tile<f32, 16> c, tile<f32, 32> d, tile<f32, 64> e,
            tile<i32, 4> f, tile<i32, 8> g, tile<i32, 16> h, scalar<i32> n) {
  using std::exp, std::max; // as generic code does, which finds the kernel's own
  auto own = exp(a);
  auto other = max(a, 0);
#ifdef IMBREX_SHOULD_FAIL
  auto x = std::exp(a); // expect: this function of std takes values of the host; write imbrex's own without std::
  auto y = std::max(b, 0); // expect: this function of std takes values of the host; write imbrex's own without std::
  auto z = std::min(2, c); // expect: this function of std takes values of the host; write imbrex's own without std::
  auto s = std::sqrt(d * 2); // expect: this function of std takes values of the host; write imbrex's own without std::
  auto p = std::pow(e, 2); // expect: this function of std takes values of the host; write imbrex's own without std::
  auto q = std::abs(f); // expect: this function of std takes values of the host; write imbrex's own without std::
  auto t = std::to_string(g); // expect: this function of std takes values of the host; write imbrex's own without std::
  auto u = std::clamp(h, 0, 1); // expect: this function of std takes values of the host; write imbrex's own without std::
  std::printf("%d", n); // expect: this function of std takes values of the host; write imbrex's own without std::
  printf("%f\n", 1.0, a * 3); // expect: this function of std takes values of the host; write imbrex's own without std::
#else
  auto x = exp(a);
  auto y = max(b, 0);
  std::printf("%f\n", std::exp(1.0) + std::max(1, 2) + std::pow(2.0F, 2));
#endif
}
// errors: 10
