#pragma once

#include <imbrex/dsl.hpp>

namespace imbrex::testing {

/// c = gelu(scale · a · b + bias) + residual: what a layer does with a product, while that is still
/// at hand.
template <int BM, int BN, int BK>
struct fused_product {
  static constexpr const char *name = "fused_product";
  void operator()(view<const bf16, 2> a, view<const bf16, 2> b, scalar<f32> scale,
                  view<const bf16, 1> bias, view<const bf16, 2> residual, view<bf16, 2> c) const {
    auto [m, n] = program_id<2>();
    var sums = zeros<f32, BM, BN>();
    for (auto k : range(0, cdiv(a.extent(1), BK)).pipelined(3))
      sums += dot(a[box<BM, BK>(m, k)], b[box<BK, BN>(k, n)]);
    auto z = scale * sums + expand<0>(cast<f32>(bias[box<BN>(n)]));
    auto activated = 0.5F * z * (1 + erf(z * 0.70710678F));
    auto here = box<BM, BN>(m, n);
    c[here] = cast<bf16>(activated + cast<f32>(residual[here]));
  }
};

} // namespace imbrex::testing
