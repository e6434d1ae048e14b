#pragma once

#include <imbrex/dsl.hpp>

#include <vector>

/// Kernels that together use every name of the language. They compute nothing of interest.
namespace kernels {
using namespace imbrex;

struct arithmetic {
  static constexpr names parameters{"a", "c", "n", "s"};
  void operator()(view<const f32, 2> a, view<f32, 2> c, scalar<i32> n, scalar<f32> s) const {
    auto x = a[box<16, 32>(n, 0)];
    auto y = a[box_at<16, 32>(n, n + 1).pad_nan().hint(cache::streaming)];
    auto z = a[box<1, 32>(0, n).pad(-1).hint(eviction::last)];
    tile<f32, 16, 32> t = x * y + z;
    tile<f32, 16, 32> u = -x * 2 - y * s;
    auto cond = (t < u && !(t == 0.5)) || x >= y;
    c[box<16, 32>(n, 0)] = where(cond, t / u, x % 3);
    c[box<16, 32>(n, 1)] = clamp(abs(t), 0, 1) + max(x, y) - min_nan(x, 1);
    c[box<16, 32>(n, 2)] += s;
    c[box<16, 32>(n, 3)] *= t;
    c[box<16, 32>(n, 4)] = c[box<16, 32>(n, 5)];
  }
};

struct integers {
  static constexpr names parameters{"p", "n", "b"};
  void operator()(ptr<i32> p, scalar<i32> n, scalar<u8> b) const {
    auto i = arange<0, 64>();
    auto masks = (i & 7) | (i ^ n);
    auto shifted = (i << 3) + (i >> lit<2>)+(1 << n) + (i << cast<i64>(n)) + (i >> b);
    store(p + i, ~masks + shifted - i / n % 5);
    store(p + i + 64, cdiv(i, n) + umulhi(i, n) + bitcast<i32>(cast<f32>(i)));
    store(p - n, where(n != 0, n, -n));
    store(2 + p, b);
  }
};

struct functions {
  static constexpr names parameters{"p", "h"};
  void operator()(ptr<f32> p, ptr<f16> h) const {
    auto i = arange<0, 8>();
    auto x = load(p + i);
    auto y = floor(x) + ceil(x) + round(x) + rint(x) + trunc(x) + sqrt(x) + rsqrt(x);
    auto z = exp(x) + exp2(x) + log(x) + log2(x) + sin(x) + cos(x) + tan(x) + tanh(x) + erf(x) +
             expm1(x) + log1p(x);
    auto f = fast::rsqrt(x) + fast::exp(x) + fast::exp2(x) + fast::log(x) + fast::log2(x) +
             fast::sin(x) + fast::cos(x) + fast::tan(x) + fast::tanh(x) + fast::erf(x) +
             fast::rcp(x) + fast::div(x, y);
    store(p + i, fma(y, z, f) + fmod(x, 3) + fdiv(i, 3) + max_nan(x, y));
    auto w = load(h + i);
    store(h + i, cast<f16>(w / 3, rounding::toward_zero) + w * 2);
    store(p + i, w);
    store(p + i, select(x > 0, x, 0));
  }
};

struct memory {
  static constexpr names parameters{"p", "q", "n"};
  void operator()(ptr<const f32> p, ptr<i32> q, scalar<i32> n) const {
    auto i = arange<0, 128>();
    auto m = i < n;
    auto a = load(p + i, m, 0.5, cache::streaming);
    auto b = load(p + i, m, {cache::all, eviction::first});
    auto c = load(p + i, eviction::last);
    store(q + i, cast<i32>(a + b + c), m);
    atomic_add(q + i, 1, m, order::relaxed);
    atomic_min(q, n);
    atomic_max(q, n, {order::acquire, scope::block});
    atomic_and(q, n);
    atomic_or(q, n, scope::system);
    atomic_xor(q, n, order::release);
    auto old = atomic_exchange(q, n);
    store(q, atomic_cas(q, old, 0));
    store(q, 7, n > 0, cache::bypass);
  }
};

struct views {
  static constexpr names parameters{"a", "b"};
  void operator()(view<const u8, 3> a, view<bf16, 1> b) const {
    auto n = a.extent(2) + a.stride(0) + num_programs(1) + program_id(0);
    auto [x, y, z] = program_id<3>();
    auto t = a[box<2, 4, 8>(x, y, z)];
    auto f = bitcast<f4e2m1>(load(a.data() + arange<0, 4>()));
    b[box<8>(n)] = cast<bf16>(f);
    b[box_at<64>(n)] = cast<bf16>(reshape<64>(t), rounding::nearest);
    b[box<8>(0)] = full<bf16, 8>(1.5);
    b[box<8>(1)] = 1;
  }
};

struct shapes {
  static constexpr names parameters{"a"};
  void operator()(view<f32, 2> a) const {
    auto x = a[box<4, 8>(0, 0)];
    auto t = transpose(x);
    auto p = permute<1, 0>(t);
    auto e = squeeze<0>(expand<0>(p));
    auto c = concatenate<0>(e, flip<1>(x));
    auto s = slice<0, 2, 4>(c) + slice<0, 0, 4, 2>(c);
    auto [u, v] = split(join(s, x));
    auto one = broadcast<4, 8>(slice<0, 0, 1>(u));
    a[box<4, 8>(0, 0)] = one + reshape<4, 8>(reshape<32>(v)) + zeros<f32, 1, 8>() + full<f32>(2);
  }
};

struct axes {
  static constexpr names parameters{"p", "q", "h"};
  void operator()(ptr<f32> p, ptr<i32> q, ptr<i8> h) const {
    auto i = arange<0, 64>();
    auto x = reshape<8, 8>(load(p + i));
    auto k = reshape<8, 8>(load(h + i));
    auto e = x - max<1>(x, keep_dims);
    auto s = sum<1>(exp(e), keep_dims | deterministic);
    store(p + reshape<8, 8>(i), e / s);
    store(p, sum(x) + prod<0>(min<0>(x)) + max_nan<-1>(min_nan<0>(x)));
    store(q, sum(k) + max(k) + argmax<0>(argmin<1>(x)) + argmax(x));
    store(q, reduce_and<0>(reduce_or<0>(k)) + reduce_xor(k));
    store(q, where(any(x > 0) && all<0>(any<1>(x < 1)), 1, 0));
    auto c =
        cumsum<0>(x, reverse | exclusive) + cumprod<1>(x, reverse) + cummax<0>(x) + cummin<0>(x);
    auto m = scan<0>(x, [](auto a, auto b) { return a * b; });
    auto mi = scan<0>(x, 1, [](auto a, auto b) { return a * b; }, reverse);
    auto [v, vi] = reduce<1>(std::tuple{x, reshape<8, 8>(i)}, [](auto a, auto ai, auto b, auto bi) {
      auto larger = a > b;
      return std::tuple{where(larger, a, b), where(larger, ai, bi)};
    });
    auto r = reduce<0>(v, [](auto a, auto b) { return a + b; });
    auto [l0, l1] = scan<0>(std::tuple{x, x}, [](auto a, auto b, auto c2, auto d) {
      return std::tuple{a * c2, b + d};
    });
    store(p + reshape<8, 8>(i), c + m + mi + r + l0 + l1);
    store(q + arange<0, 8>(), vi);
    auto [top, where_top] = topk<4>(x);
    auto [keys, values] = sort_by_key<0>(x, k, sorted::descending);
    store(p + reshape<8, 4>(arange<0, 32>()), top + slice<1, 0, 4>(keys));
    store(q + reshape<8, 8>(i), argsort(sort(x)) + values);
    store(q + reshape<8, 4>(arange<0, 32>()), where_top);
    store(q + arange<0, 16>(), histogram<16>(i) + histogram<16>(i, i < 5));
    store(p + reshape<8, 8>(i), gather<1>(x, k));
  }
};

struct products {
  static constexpr names parameters{"a", "b", "c", "d"};
  void operator()(view<const f16, 3> a, view<const f8e4m3fn, 2> b, view<f32, 2> c,
                  view<const e8m0, 2> d) const {
    auto x = a[box<2, 16, 32>(0, 0, 0)];
    auto s = sum<0>(dot(x, permute<0, 2, 1>(x)));
    auto y = b[box<16, 32>(0, 0)];
    auto t = dot(y, bitcast<f8e5m2>(transpose(y)), s, promote_every(64));
    auto f = dot(t, s, precision::tf32x3);
    auto sc = d[box<16, 1>(0, 0)];
    auto m = dot_scaled(y, sc, transpose(y), no_scale);
    c[box<16, 16>(0, 0)] = dot_scaled(y, sc, transpose(y), sc, f) + m;
    auto bytes = arange<0, 32, 1, i8>();
    auto ii = dot(reshape<4, 8>(bytes), reshape<8, 4>(bytes));
    c[box<4, 4>(0, 0)] = cast<f32>(ii);
  }
};

struct random {
  static constexpr names parameters{"p", "q", "seed"};
  void operator()(ptr<f32> p, ptr<u32> q, scalar<u64> seed) const {
    auto i = arange<0, 64>();
    auto [a, b, c, d] = randint4x(seed, cast<i64>(i));
    store(q + i, (randint(42, i) ^ a) + (b | c) + d);
    auto [u, v, w, x] = rand4x(seed, i);
    auto [k, l, m, n] = randn4x(seed, i);
    store(p + i, rand(seed, i) + randn(seed, i) + u + v + w + x + k + l + m + n);
    auto word = cast<u32>(i);
    auto [e, f, g, h] = philox4x32(seed, word, 0, word, 7);
    store(q + i, e + f + g + h);
  }
};

struct observed {
  static constexpr names parameters{"p", "n"};
  void operator()(ptr<i32> p, scalar<i32> n) const {
    device_print("n is", n);
    device_assert(n > 0, "n must be positive");
    auto twice = inline_asm<i32>("lea ($1,$1), $0", "=r,r", "host", n);
    store(p, twice);
  }
};

struct control {
  static constexpr names parameters{"p", "n"};
  void operator()(ptr<i32> p, scalar<i32> n) const {
    exit_if(program_id(0) >= n);
    var total = 0;
    var best = full<i32>(-1);
    for (auto i : range(n)) {
      for (auto j : range(i, 0, -2).unroll(2)) {
        IMBREX_IF(j % 3 == 0) { total += j; }
        IMBREX_ELSE_IF(j % 3 == 1) {
          total -= j * 2;
          best = total;
        }
        IMBREX_ELSE { total *= 2; }
      }
      break_if(total > 1000);
      total %= 77;
    }
    var k = n;
    while_([&] { return k > 1; },
           [&] {
             k = k / 2;
             total ^= k;
           });
    for (auto trip : forever()) {
      k += 1;
      break_if(k > 10);
    }
    if_(k == 11, [&] { store(p, k); });
    store(p + 1, if_(n > 2, [&] { return total + best; }, [&] { return n * 2; }));
    store(p + 2, total);
    store(p + 3, best.get());
  }
};

/// What C++ compilers evaluate in different orders.
struct orders {
  static constexpr names parameters{"p", "q", "r"};
  void operator()(ptr<f32> p, ptr<f32> q, ptr<f32> r) const {
    auto i = arange<0, 16>();
    store(r + i, load(p + i) * load(q + i) + load(r + i) * (load(p + 1) - load(q + 1)));
    var v = 1.0F;
    var w = load(p);
    for (auto k : range(4)) {
      auto t = (w + 1) * (v - w) + cast<f32>(k);
      v = t - exp(w) * exp(v);
      w = (v + w) * (w - v);
    }
    store(p, max(exp(v), exp(w)));
    auto square = v * w;
    store(q, square + v);
  }
};

inline std::vector<imbrex::traced_kernel> all() {
  return {trace(arithmetic{}), trace(integers{}), trace(functions{}), trace(memory{}),
          trace(views{}),      trace(shapes{}),   trace(axes{}),      trace(products{}),
          trace(random{}),     trace(observed{}), trace(control{}),   trace(orders{})};
}

} // namespace kernels
