// A launch passes one argument for each parameter, after the grid.
#include <imbrex/imbrex.hpp>

using namespace imbrex;

int main() {
  const auto launch = jit([](ptr<f32> x, scalar<f32> value) { store(x, value); });
  buffer<f32> x(1);
  launch(grid(1), x, 1);
#ifdef IMBREX_SHOULD_FAIL
  launch(grid(1), x); // expect: a launch passes one argument for each parameter of the kernel
#endif
}
