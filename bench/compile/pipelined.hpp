#pragma once

// Kernels whose loops copy ahead: what planning and proving a schedule costs.

#include <imbrex/imbrex.hpp>

namespace bench {

using namespace imbrex;

template <int BM, int BN, int BK>
struct pipelined_matmul {
  void operator()(view<const f16, 2> a, view<const f16, 2> b, view<f32, 2> c) const {
    auto [m, n] = program_id<2>();
    var acc = zeros<f32, BM, BN>();
    for (auto k : range(0, cdiv(a.extent(1), BK)).pipelined())
      acc += dot(a[box<BM, BK>(m, k)], b[box<BK, BN>(k, n)]);
    c[box<BM, BN>(m, n)] = acc;
  }
};

/// Tiles of queries in an outer loop, keys and values in an inner one; the softmax is carried along
/// (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
template <int Rows, int Columns, int Depth>
struct pipelined_attention {
  void operator()(view<const f16, 2> q, view<const f16, 2> k, view<const f16, 2> v,
                  view<f32, 2> o) const {
    for (auto m : range(0, cdiv(q.extent(0), Rows))) {
      auto queries = q[box<Rows, Depth>(m, 0)];
      var sums = zeros<f32, Rows, Depth>();
      var most = full<f32, Rows>(-1e30F);
      var total = zeros<f32, Rows>();
      for (auto n : range(0, cdiv(k.extent(0), Columns)).pipelined()) {
        auto scores = dot(queries, permute<1, 0>(k[box<Columns, Depth>(n, 0)]));
        auto next = max(most, max<1>(scores));
        auto shrink = exp(most - next);
        auto weights = exp(scores - expand<1>(next));
        total = total * shrink + sum<1>(weights);
        sums = sums * expand<1>(shrink) + dot(cast<f16>(weights), v[box<Columns, Depth>(n, 0)]);
        most = next;
      }
      o[box<Rows, Depth>(m, 0)] = sums / expand<1>(total);
    }
  }
};

template <int Rows, int Columns>
struct pipelined_sum {
  void operator()(view<const f32, 2> x, view<f32, 1> sums) const {
    auto m = program_id(0);
    var all = zeros<f32, Rows, Columns>();
    for (auto k : range(0, cdiv(x.extent(1), Columns)).pipelined())
      all += x[box<Rows, Columns>(m, k)];
    sums[box<Rows>(m)] = sum<1>(all);
  }
};

/// Loops in each other, each of which copies so many trips ahead.
template <int Slots>
struct two_nested {
  void operator()(view<const f32, 1> x, view<const f32, 1> y, view<f32, 1> sums) const {
    var all = zeros<f32, 64>();
    for (auto i : range(0, x.extent(0)).pipelined(Slots)) {
      all += x[box<64>(i)];
      for (auto j : range(0, y.extent(0)).pipelined(Slots)) all += y[box<64>(j)];
    }
    sums[box<64>(0)] = all;
  }
};

template <int Slots>
struct three_nested {
  void operator()(view<const f32, 1> x, view<const f32, 1> y, view<const f32, 1> z,
                  view<f32, 1> sums) const {
    var all = zeros<f32, 64>();
    for (auto i : range(0, x.extent(0)).pipelined(Slots)) {
      all += x[box<64>(i)];
      for (auto j : range(0, y.extent(0)).pipelined(Slots)) {
        all += y[box<64>(j)];
        for (auto k : range(0, z.extent(0)).pipelined(Slots)) all += z[box<64>(k)];
      }
    }
    sums[box<64>(0)] = all;
  }
};

} // namespace bench
