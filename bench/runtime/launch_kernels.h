#pragma once

#include <imbrex/dsl.hpp>

/// Kernels that do nothing to speak of, by how many arguments they have; and one with much code.
namespace imbrex::launched {

struct pointers {
  void operator()(ptr<const f32> a, ptr<const f32> b, ptr<f32> c, ptr<f32> d, scalar<f32> value,
                  scalar<f32> other) const {
    store(c, load(a) * value);
    store(d, load(b) * other);
  }
};

struct views {
  void operator()(view<const f32, 1> a, view<const f32, 1> b, view<f32, 1> c,
                  scalar<f32> value) const {
    c[box<1>(0)] = a[box<1>(0)] + b[box<1>(0)] * value;
  }
};

struct many {
  using number = scalar<i32>;
  void operator()(ptr<i32> p, number a, number b, number c, number d, number e, number f, number g,
                  number h, number i, number j, number k, number l, number m, number n, number o,
                  number q, number r, number s) const {
    store(p, a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + q + r + s);
  }
};

/// gelu(a · b + bias), as the example of fused products has it.
template <int M, int N, int K>
struct product {
  void operator()(view<const f32, 2> a, view<const f32, 2> b, view<const f32, 1> bias,
                  view<f32, 2> y) const {
    auto [m, n] = program_id<2>();
    var sum = zeros<f32, M, N>();
    for (auto k : range(0, cdiv(a.extent(1), K)).pipelined(3))
      sum += dot(a[box<M, K>(m, k)], b[box<K, N>(k, n)]);
    auto z = sum + expand<0>(bias[box<N>(n)]);
    y[box<M, N>(m, n)] = 0.5 * z * (1 + erf(z * 0.70710678118654752));
  }
};

} // namespace imbrex::launched
