#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

/// Kernels that compute the grid of their launches.
namespace imbrex {

namespace {

/// As many blocks as its sizes ask for, along two axes.
struct Doubled {
  static constexpr names parameters{"x", "y", "most"};
  void operator()(view<const f32, 2> x, view<f32, 2> y, scalar<i32> most) const {
    require(x.extent(1) == y.extent(1), "both have as many columns");
    auto here = box<4, 8>(program_id(0), program_id(1));
    y[here] = where(program_id(0) < most, x[here] + x[here], 0.0f);
  }
  auto blocks(view<const f32, 2> x, view<f32, 2> y, scalar<i32> most) const {
    return std::tuple(min(cdiv(x.extent(0), 4), cast<i64>(most)), cdiv(y.extent(1), 8));
  }
};

struct Blockless {
  void operator()(view<f32, 1> x) const { x[box<4>(0)] = 1.0f; }
  auto blocks(view<f32, 1> x) const { return x.extent(0) - 5; }
};

} // namespace

TEST_CASE("a kernel that computes its grid is launched without one") {
  for (const char *name : {"host", "interpreter", "emulated:sm_80"}) {
    CAPTURE(name);
    const device on = device::by_name(name);
    const auto kernel = jit(Doubled{}, {.on = on});
    buffer<f32> x(9, 19), y(9, 19);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    for (const int most : {3, 2, 0}) {
      y.fill(-1);
      kernel(x, y, most);
      for (std::size_t i = 0; i < x.size(); ++i)
        CHECK(y[i] == (static_cast<int>(i) / 19 / 4 < most ? 2 * x[i] : -1));
    }
    y.fill(-1);
    kernel(stream_ref(on), x, y, 3);
    CHECK(y[19 * 9 - 1] == 2 * x[19 * 9 - 1]);
    // Who brings a grid all the same has that one.
    y.fill(-1);
    kernel(grid(1), x, y, 3);
    CHECK(y[7] == 14);
    CHECK(y[8] == -1);
    buffer<f32> narrow(9, 18);
    const result<void> unmet = kernel.try_launch(x, narrow, 3);
    REQUIRE(!unmet);
    CHECK(unmet.error().what() == doctest::Contains("both have as many columns"));
  }
}

TEST_CASE("a grid that a kernel computes is checked as one that is given") {
  const auto kernel = jit(Blockless{}, {.on = device::host()});
  buffer<f32> x(4), five(5);
  const result<void> negative = kernel.try_launch(x);
  REQUIRE(!negative);
  CHECK(negative.error().what() == doctest::Contains("-1"));
  five.fill(0);
  kernel(five); // none
  CHECK(five[0] == 0);
}

TEST_CASE("a grid is computed from what a launch knows, and from nothing else") {
  struct Asking {
    void operator()(view<f32, 1> x) const { x[box<4>(0)] = 1.0f; }
    auto blocks(view<f32, 1>) const { return program_id(0) + 1; }
  };
  struct Reading {
    void operator()(ptr<const i32> n, view<f32, 1> x) const { x[box<4>(0)] = cast<f32>(load(n)); }
    auto blocks(ptr<const i32> n, view<f32, 1>) const { return load(n); }
  };
  const auto asking = try_jit(Asking{});
  REQUIRE(!asking);
  CHECK(asking.error().what() ==
        doctest::Contains("`blocks` of kernel 'Asking' has 'program_id', which a launch can't do"));
  const auto reading = try_jit(Reading{});
  REQUIRE(!reading);
  CHECK(reading.error().what() == doctest::Contains("'load'"));
}

} // namespace imbrex
