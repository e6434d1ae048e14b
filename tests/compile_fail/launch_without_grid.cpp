// A launch begins with the grid.
#include <imbrex/imbrex.hpp>

using namespace imbrex;

int main() {
  const auto launch = jit([](ptr<f32> x, scalar<f32> value) { store(x, value); });
  buffer<f32> x(1);
  launch(stream_ref(device::host()), grid(1), x, 1);
#ifdef IMBREX_SHOULD_FAIL
  launch(x, 1); // expect: a launch begins with the grid, or with a stream and the grid
  launch(1, x, 1); // expect: a launch begins with the grid, or with a stream and the grid
  launch.try_launch(x); // expect: a launch begins with the grid, or with a stream and the grid
  launch(grid(1), x, x); // expect: the kernel's parameter is a number, the argument is not
#endif
}
