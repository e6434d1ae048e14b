#pragma once

// The kernels that are measured against libraries, as a user would write them.

#include <imbrex/imbrex.hpp>

namespace bench {

using namespace imbrex;

/// The output is not read again soon: it need not displace what is in the caches.
template <int Size>
struct add {
  void operator()(view<const f32, 1> a, view<const f32, 1> b, view<f32, 1> sum) const {
    auto here = box<Size>(program_id(0));
    sum[here.hint(cache::streaming)] = a[here] + b[here];
  }
};

template <int Columns>
struct softmax {
  void operator()(view<const f32, 2> in, view<f32, 2> out) const {
    auto here = box<1, Columns>(program_id(0), 0);
    auto x = in[here];
    auto e = exp(x - max<1>(x, keep_dims));
    out[here.hint(cache::streaming)] = e / sum<1>(e, keep_dims);
  }
};

template <int Columns>
struct layer_norm {
  void operator()(view<const f32, 2> in, view<const f32, 1> scale, view<const f32, 1> shift,
                  view<f32, 2> out) const {
    auto here = box<1, Columns>(program_id(0), 0);
    auto all = box<Columns>(0);
    auto x = in[here];
    auto mean = sum<1>(x, keep_dims) / Columns;
    auto centred = x - mean;
    auto variance = sum<1>(centred * centred, keep_dims) / Columns;
    out[here.hint(cache::streaming)] =
        centred * rsqrt(variance + 1e-5F) * expand<0>(scale[all]) + expand<0>(shift[all]);
  }
};

template <int BM, int BN, int BK, class T = f32, class Sum = f32>
struct matmul {
  void operator()(view<const T, 2> a, view<const T, 2> b, view<Sum, 2> c) const {
    auto [m, n] = program_id<2>();
    var acc = zeros<Sum, BM, BN>();
    for (auto k : range(0, cdiv(a.extent(1), BK)))
      acc += dot(a[box<BM, BK>(m, k)], b[box<BK, BN>(k, n)]);
    c[box<BM, BN>(m, n)] = acc;
  }
};

/// One of a batch for each block along z.
template <int BM, int BN, int BK>
struct batched_matmul {
  void operator()(view<const f32, 3> a, view<const f32, 3> b, view<f32, 3> c) const {
    auto [m, n, batch] = program_id<3>();
    var acc = zeros<f32, 1, BM, BN>();
    for (auto k : range(0, cdiv(a.extent(2), BK)))
      acc += dot(a[box<1, BM, BK>(batch, m, k)], b[box<1, BK, BN>(batch, k, n)]);
    c[box<1, BM, BN>(batch, m, n)] = acc;
  }
};

template <int BM, int BN, int BK>
struct matmul_gelu {
  void operator()(view<const f32, 2> a, view<const f32, 2> b, view<const f32, 1> bias,
                  view<f32, 2> c) const {
    auto [m, n] = program_id<2>();
    var acc = zeros<f32, BM, BN>();
    for (auto k : range(0, cdiv(a.extent(1), BK)))
      acc += dot(a[box<BM, BK>(m, k)], b[box<BK, BN>(k, n)]);
    auto z = acc + expand<0>(bias[box<BN>(n)]);
    c[box<BM, BN>(m, n)] = 0.5F * z * (1 + erf(z * 0.70710678F));
  }
};

/// The forward pass of attention, the softmax carried along: a block takes BM queries of a head,
/// and BN keys and values a trip. All heads' rows lie behind each other, `length` of each.
template <int BM, int BN, int D>
struct attention {
  bool is_causal = false;
  void operator()(view<const f32, 2> q, view<const f32, 2> k, view<const f32, 2> v, view<f32, 2> o,
                  scalar<i32> length, scalar<f32> scale) const {
    auto [m, head] = program_id<2>();
    auto here = box<BM, D>(head * (length / BM) + m, 0);
    auto queries = q[here] * scale;
    auto first = head * (length / BN);
    var sums = zeros<f32, BM, D>();
    var most = full<f32, BM>(-1e30F);
    var total = zeros<f32, BM>();
    const auto trips = [&](const auto &from, const auto &to, bool is_diagonal) {
      for (auto n : range(from, to)) {
        var scores = dot(queries, permute<1, 0>(k[box<BN, D>(first + n, 0)]));
        if (is_diagonal)
          scores = where(expand<1>(m * BM + arange<0, BM>()) >= expand<0>(n * BN + arange<0, BN>()),
                         scores, -1e30F);
        auto next = max(most, max<1>(scores));
        auto shrink = exp(most - next);
        auto weights = exp(scores - expand<1>(next));
        total = total * shrink + sum<1>(weights);
        sums = dot(weights, v[box<BN, D>(first + n, 0)], sums * expand<1>(shrink));
        most = next;
      }
    };
    // Up to the diagonal all scores count.
    var all = length / BN;
    if (is_causal) all = m * BM / BN;
    trips(0, all, false);
    if (is_causal) trips(all, cdiv((m + 1) * BM, BN), true);
    o[here] = sums / expand<1>(total);
  }
};

} // namespace bench
