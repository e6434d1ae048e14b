#include <imbrex/imbrex.hpp>
using namespace imbrex;

#ifdef IMBREX_SHOULD_FAIL
struct zero {
  void operator()(view<f32, 1> y) { y[box<16>(0)] = 0; }
};
auto generic = [](auto y) { y[box<16>(0)] = 0; };
#else
struct zero {
  void operator()(view<f32, 1> y) const { y[box<16>(0)] = 0; }
};
auto generic = [](view<f32, 1> y) { y[box<16>(0)] = 0; };
#endif

// A kernel that is refused is refused once, not by its launches again.
void launch(buffer<f32> &y) {
#ifdef IMBREX_SHOULD_FAIL
  auto kernel = jit(zero{}); // expect: a kernel's operator\(\) is const
  kernel(grid(1), y);
  auto other = jit(generic); // expect: `auto` parameters are not known until the launch
  other(grid(1), y);
  (void)other.try_launch(grid(1), y);
#else
  jit(zero{})(grid(1), y);
#endif
}
// errors: 2
