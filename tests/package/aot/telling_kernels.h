#pragma once

#include <imbrex/dsl.hpp>

/// Kernels that print and assert, which the tests compile ahead of time, and launch by jit to
/// compare.
namespace imbrex::aot_kernels {

/// Prints four numbers a block, asserts that they are less than the most, and adds one to them.
struct told {
  static constexpr names parameters{"x", "most"};
  void operator()(view<f32, 1> x, scalar<f32> most) const {
    const auto here = box<4>(program_id(0));
    const auto numbers = x[here];
    device_print("seen", numbers, most);
    device_assert(numbers < most, "less than the most");
    x[here] = numbers + 1.0f;
  }
};

/// Prints what its arguments are as elements of every type, in tiles of every rank.
struct shown {
  static constexpr names parameters{"floats", "integers"};
  void operator()(view<const f32, 1> floats, view<const i64, 1> integers) const {
    const auto x = floats[box<8>(0)];
    device_print("100% of the floats", x, cast<f64>(x) * 0.1, cast<f16>(x), cast<bf16>(x));
    device_print("small", cast<f8e4m3fn>(x), cast<f8e5m2>(x), cast<f8e4m3fnuz>(x),
                 cast<f8e5m2fnuz>(x), cast<f4e2m1>(x), cast<e8m0>(x));
    const auto n = integers[box<4>(0)];
    device_print("signed", cast<i8>(n), cast<i16>(n), cast<i32>(n), n);
    device_print("unsigned", cast<u8>(n), cast<u16>(n), cast<u32>(n), cast<u64>(n));
    device_print("deep", reshape<2, 1, 2>(n > 0), program_id(0));
    device_print("nothing");
    device_assert(program_id(0) < 1, "the first alone");
  }
};

/// Each block prints more than others leave room for.
struct flooding {
  static constexpr names parameters{"x"};
  void operator()(view<i32, 1> x) const {
    device_print("flood", broadcast<8192>(program_id(0)));
    x[box<1>(program_id(0))] = broadcast<1>(program_id(0) + 1);
  }
};

/// Stores n, and prints it where the configuration is loud.
template <bool IsLoud>
struct counted {
  static constexpr names parameters{"x", "n"};
  void operator()(view<i32, 1> x, scalar<i32> n) const {
    if constexpr (IsLoud) device_print("counted", n);
    x[box<4>(0)] = broadcast<4>(n);
  }
  auto blocks(view<i32, 1> /*x*/, scalar<i32> /*n*/) const { return 1; }
};

} // namespace imbrex::aot_kernels
