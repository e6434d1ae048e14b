#pragma once

#include <imbrex/dsl.hpp>

#include <tuple>

/// Kernels that the tests compile ahead of time, and launch by jit to compare.
namespace imbrex::aot_kernels {

struct add {
  static constexpr names parameters{"a", "b", "c"};
  void operator()(view<const f32, 1> a, view<const f32, 1> b, view<f32, 1> c) const {
    const auto here = box<1024>(program_id(0));
    c[here] = a[here] + b[here];
  }
};

/// In the style of pointers, with numbers of several kinds.
struct scale {
  static constexpr names parameters{"x", "y", "n", "factor", "bias", "negate", "shift"};
  void operator()(ptr<const f32> x, ptr<f32> y, scalar<i32> n, scalar<f32> factor, scalar<f16> bias,
                  scalar<bool> negate, scalar<i64> shift) const {
    const auto at = program_id(0) * 256 + arange<0, 256>();
    const auto inside = at < n;
    const auto value = load(x + at, inside, 0.0f) * factor + cast<f32>(bias) + cast<f32>(shift);
    store(y + at, where(negate, -value, value), inside);
  }
};

/// A scalar of each type, each with a name that C++ has another use for or none.
struct numbers {
  static constexpr names parameters{"on",  "int",  "u8s", "i16s", "u16s", "u32s",
                                    "i64", "u64s", "bf",  "f8",   "f64s", "out"};
  void operator()(scalar<bool> on, scalar<i8> i8s, scalar<u8> u8s, scalar<i16> i16s,
                  scalar<u16> u16s, scalar<u32> u32s, scalar<i64> i64s, scalar<u64> u64s,
                  scalar<bf16> bf, scalar<f8e4m3fn> f8, scalar<f64> f64s, view<f64, 1> out) const {
    const auto put = [&](int at, const auto &value) { out[box<1>(at)] = cast<f64>(value); };
    put(0, on);
    put(1, i8s);
    put(2, u8s);
    put(3, i16s);
    put(4, u16s);
    put(5, u32s);
    put(6, i64s);
    put(7, u64s);
    put(8, bf);
    put(9, cast<f32>(f8));
    put(10, f64s);
  }
};

struct softmax {
  static constexpr names parameters{"x", "y"};
  void operator()(view<const f32, 2> x, view<f32, 2> y) const {
    const auto here = box<4, 128>(program_id(0), 0);
    const auto row = x[here.pad(-constants::infinity)];
    const auto e = exp(row - max<1>(row, keep_dims));
    y[here] = e / sum<1>(e, keep_dims | deterministic);
  }
};

/// Its loads run ahead, by boxes of an engine where there is one.
struct product {
  static constexpr names parameters{"a", "b", "c"};
  void operator()(view<const f16, 2> a, view<const f16, 2> b, view<f32, 2> c) const {
    require(a.extent(1) == b.extent(0), "the rows of b are the columns of a");
    require(c.extent(0) == a.extent(0) && c.extent(1) == b.extent(1), "c is as large as a times b");
    const auto [m, n] = program_id<2>();
    var acc = zeros<f32, 64, 64>();
    for (auto k : range(0, cdiv(a.extent(1), 32)).pipelined(3))
      acc += dot(a[box<64, 32>(m, k)], b[box<32, 64>(k, n)]);
    c[box<64, 64>(m, n)] = acc;
  }
  auto blocks(view<const f16, 2> a, view<const f16, 2> b, view<f32, 2> /*c*/) const {
    return std::tuple(cdiv(a.extent(0), 64), cdiv(b.extent(1), 64));
  }
};

/// Sets so many tiles to their number; whether it may, and its grid, follow from that.
struct tiles {
  static constexpr names parameters{"x", "count"};
  void operator()(view<f32, 1> x, scalar<i32> count) const {
    require(count <= 3, "no more than three");
    x[box<32>(program_id(0))] = broadcast<32>(cast<f32>(count));
  }
  auto blocks(view<f32, 1> /*x*/, scalar<i32> count) const { return count; }
};

/// Writes which configuration it is to the elements of x, in blocks of its own.
template <int Number, int Size>
struct chosen {
  static constexpr names parameters{"x", "n", "is_odd"};
  void operator()(view<f32, 1> x, scalar<i32> n, scalar<bool> is_odd) const {
    if constexpr (Number == 3) require(x.extent(0) % 2 == 0, "it takes pairs");
    x[box<Size>(program_id(0))] = broadcast<Size>(Number + 0.0f * cast<f32>(n) * cast<f32>(is_odd));
  }
  auto blocks(view<f32, 1> x, scalar<i32> /*n*/, scalar<bool> /*is_odd*/) const {
    return cdiv(x.extent(0), Size);
  }
};

/// Stores its number and n, in a grid that the launch brings.
template <int Number>
struct marked {
  static constexpr names parameters{"x", "n", "large", "small", "other"};
  void operator()(ptr<f32> x, scalar<i32> n, scalar<u64> large, scalar<i8> small,
                  scalar<f32> other) const {
    const auto unused = cast<f32>(large) * 0.0f + cast<f32>(small) * 0.0f;
    store(x + arange<0, 32>(), broadcast<32>(cast<f32>(n + Number) + unused + other));
  }
};

/// Stores its number and other in n places, which are few where the number is 1.
template <int Number>
struct bounded {
  static constexpr names parameters{"x", "n", "other"};
  void operator()(ptr<f32> x, scalar<i32> n, scalar<i32> other) const {
    if constexpr (Number == 1) require(n <= 8, "it is for few");
    store(x + arange<0, 32>(), broadcast<32>(cast<f32>(other + Number)), arange<0, 32>() < n);
  }
};

/// Each block adds one to the numbers of a group, and stores them to another.
struct groups {
  static constexpr names parameters{"from", "to", "count"};
  void operator()(table<const f32> from, table<f32> to, scalar<i32> count) const {
    require(from.size() == to.size(), "each group has two places");
    const auto group = program_id(0);
    const auto at = arange<0, 64>();
    store(to[group] + at, load(from[group] + at, at < count, 0.0f) + 1.0f, at < count);
  }
  auto blocks(table<const f32> from, table<f32> /*to*/, scalar<i32> /*count*/) const {
    return from.size();
  }
};

/// Elements of which two share a byte.
struct halve {
  static constexpr names parameters{"x", "y"};
  void operator()(view<const f4e2m1, 2> x, view<f32, 2> y) const {
    const auto here = box<8, 64>(program_id(0), 0);
    y[here] = cast<f32>(x[here]) * 0.5f;
  }
};

} // namespace imbrex::aot_kernels
