#include <imbrex/dsl.hpp>

#include <algorithm>
#include <array>
using namespace imbrex;

// Of one type the compiler says it once. A condition of the host chooses between a tile and a number.
void kernel(tile<f32, 4> a, scalar<i32> n, scalar<f32> x, std::array<float, 4> array, bool flag) {
  scalar<f32> chosen = flag ? x : 0;
#ifdef IMBREX_SHOULD_FAIL
  int i = program_id(0); // expect: so that no int or float of C\+\+ can be made of it, nor an index; keep it in `auto`
  float f = sum(a); // expect: so that no int or float of C\+\+ can be made of it, nor an index; keep it in `auto`
  double d = x * 2 + 1; // expect: so that no int or float of C\+\+ can be made of it, nor an index; keep it in `auto`
  auto e = array[program_id(0)]; // expect: so that no int or float of C\+\+ can be made of it, nor an index; keep it in `auto`
  auto s = static_cast<unsigned>(n); // expect: so that no int or float of C\+\+ can be made of it, nor an index; keep it in `auto`
  auto c = flag ? x * 2 : 0L; // expect: so that no int or float of C\+\+ can be made of it, nor an index; keep it in `auto`
  auto m = std::max(n, n); // expect elsewhere: cannot test it; use IMBREX_IF, for \(auto i : range\(n\)\), while_, where, min or max
#else
  auto i = program_id(0);
  auto f = sum(a);
  auto d = cast<f64>(x * 2 + 1);
  auto e = array[0];
  auto s = cast<u32>(n);
  auto c = flag ? scalar<f32>(x * 2) : scalar<f32>(0);
  auto m = max(n, n);
#endif
}
