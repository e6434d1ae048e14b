// What kernels in a library can't do yet.
#include <imbrex/generator.hpp>

namespace {

using namespace imbrex;

struct talk {
  static constexpr names parameters{"x"};
  void operator()(view<f32, 1> x) const {
    device_print("x is", x[box<4>(0)]);
    device_assert(x[box<4>(0)] > 0.0f, "some are");
  }
};

struct pick {
  static constexpr names parameters{"xs", "y"};
  void operator()(table<const f32> xs, view<f32, 1> y) const { y[box<1>(0)] = load(xs[1]); }
};

} // namespace

IMBREX_KERNEL(talk, talk{});
IMBREX_KERNEL(pick, pick{});
