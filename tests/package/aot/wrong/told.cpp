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

} // namespace

IMBREX_KERNEL(talk, talk{});
