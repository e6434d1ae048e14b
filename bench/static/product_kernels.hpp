#pragma once

// Products of matrices and attention as a user would write them for a GPU's matrix units, tile by
// tile: what products.py measures beside Triton's, and bench_compile the compilation of.

#include <imbrex/imbrex.hpp>

#include <concepts>
#include <string>
#include <vector>

namespace bench {

using namespace imbrex;

/// c = a · b, or a · bᵀ where b's rows lie along the inner extent as a's do.
template <class T, class Sum, class Out, int BM, int BN, int BK>
struct tiled_gemm {
  bool is_transposed = false;
  int slots = 3;
  void operator()(view<const T, 2> a, view<const T, 2> b, view<Out, 2> c) const {
    auto [m, n] = program_id<2>();
    var sums = zeros<Sum, BM, BN>();
    for (auto k : range(0, cdiv(a.extent(1), BK)).pipelined(slots)) {
      if (is_transposed)
        sums += dot(a[box<BM, BK>(m, k)], permute<1, 0>(b[box<BN, BK>(n, k)]));
      else
        sums += dot(a[box<BM, BK>(m, k)], b[box<BK, BN>(k, n)]);
    }
    c[box<BM, BN>(m, n)] = cast<Out>(sums);
  }
};

/// Weights as they are multiplied: bytes and 8-bit floats are cast, and of bytes of u8 each half is
/// one of 4 bits, the low one first, 8 too large.
template <int BN, int BK, class W>
auto weights_at(const view<const W, 2> &w, const auto &n, const auto &k) {
  if constexpr (std::same_as<W, u8>) {
    tile<u8, BN, BK / 2> pairs = w[box<BN, BK / 2>(n, k)];
    return cast<bf16>(cast<i8>(reshape<BN, BK>(join(pairs & 15, pairs >> 4))) - 8);
  } else {
    return cast<bf16>(w[box<BN, BK>(n, k)]);
  }
}

/// c = a · (w · s)ᵀ: of each row of weights, BK along the inner extent have a scale in common.
template <class W, int BM, int BN, int BK>
struct weights_gemm {
  int slots = 3;
  void operator()(view<const bf16, 2> a, view<const W, 2> w, view<const bf16, 2> s,
                  view<bf16, 2> c) const {
    auto [m, n] = program_id<2>();
    var sums = zeros<f32, BM, BN>();
    for (auto k : range(0, cdiv(a.extent(1), BK)).pipelined(slots)) {
      tile<bf16, BN, BK> scaled = weights_at<BN, BK>(w, n, k) * s[box<BN, 1>(n, k)];
      sums += dot(a[box<BM, BK>(m, k)], permute<1, 0>(scaled));
    }
    c[box<BM, BN>(m, n)] = cast<bf16>(sums);
  }
};

/// c = a · bᵀ of f32, in parts.
template <int BM, int BN, int BK>
struct parts_gemm {
  precision how = precision::tf32x3;
  int slots = 3;
  void operator()(view<const f32, 2> a, view<const f32, 2> b, view<f32, 2> c) const {
    auto [m, n] = program_id<2>();
    var sums = zeros<f32, BM, BN>();
    for (auto k : range(0, cdiv(a.extent(1), BK)).pipelined(slots))
      sums += dot(a[box<BM, BK>(m, k)], permute<1, 0>(b[box<BN, BK>(n, k)]), how);
    c[box<BM, BN>(m, n)] = sums;
  }
};

/// The forward pass of attention with the softmax carried along (Milakov and Gimelshein, "Online
/// normalizer calculation for softmax", 2018): a block takes BM queries of a head, and BN keys and
/// values a trip. The rows of all heads lie in one view behind each other, `length` of each head.
template <class T, int BM, int BN, int D>
struct tiled_attention {
  bool is_causal = false;
  int slots = 2;

  void operator()(view<const T, 2> q, view<const T, 2> k, view<const T, 2> v, view<T, 2> o,
                  scalar<i32> length, scalar<f32> scale) const {
    require(length % BM == 0, "the sequence is a multiple of a block's queries");
    require(length % BN == 0, "the sequence is a multiple of a trip's keys");
    auto [m, head] = program_id<2>();
    auto here = box<BM, D>(head * (length / BM) + m, 0);
    auto queries = q[here];
    auto factor = scale * 1.44269504F; // exp2 for exp
    var sums = zeros<f32, BM, D>();
    var most = full<f32, BM>(-1e30F);
    var total = zeros<f32, BM>();
    auto first = head * (length / BN);
    const auto online_softmax = [&](const tile<f32, BM, BN> &scores, const auto &n) {
      auto next = max(most, max<1>(scores) * factor);
      auto shrink = fast::exp2(most - next);
      auto weights = fast::exp2(scores * factor - expand<1>(next));
      total = total * shrink + sum<1>(weights);
      sums = dot(cast<T>(weights), v[box<BN, D>(first + n, 0)], sums * expand<1>(shrink));
      most = next;
    };
    // Up to the diagonal all scores count.
    const auto trips = [&](const auto &from, const auto &to, bool is_diagonal) {
      for (auto n : range(from, to).pipelined(slots)) {
        tile<f32, BM, BN> scores = dot(queries, permute<1, 0>(k[box<BN, D>(first + n, 0)]));
        if (is_diagonal) {
          auto query = expand<1>(m * BM + arange<0, BM>());
          auto key = expand<0>(n * BN + arange<0, BN>());
          online_softmax(where(query >= key, scores, -1e30F), n);
        } else {
          online_softmax(scores, n);
        }
      }
    };
    if (is_causal) {
      constexpr int per_block = (BM + BN - 1) / BN;
      auto diagonal = m * BM / BN;
      trips(0, diagonal, false);
      trips(diagonal, diagonal + per_block, true);
    } else {
      trips(0, length / BN, false);
    }
    o[here] = cast<T>(sums / expand<1>(total));
  }
};

} // namespace bench
