#include <imbrex/dsl.hpp>

#include <iostream>
#include <sstream>
using namespace imbrex;

void kernel(tile<f32, 4> x, view<f32, 1> v, var<scalar<i32>> &n, std::ostringstream &text) {
#ifdef IMBREX_SHOULD_FAIL
  std::cout << x; // expect: C\+\+ cannot print it; device_print\("x", x\) prints when the kernel runs
  std::cout << "x = " << x * 2 << '\n'; // expect: C\+\+ cannot print it; device_print\("x", x\) prints when the kernel runs
  text << v; // expect: C\+\+ cannot print it; device_print\("x", x\) prints when the kernel runs
  std::cerr << n << v[box<4>(0)]; // expect: C\+\+ cannot print it; device_print\("x", x\) prints when the kernel runs
#else
  device_print("x", x);
  std::cout << "traced\n"
            << (1 << 2);
  auto shifted = n << 2;
#endif
}
// errors: 5
