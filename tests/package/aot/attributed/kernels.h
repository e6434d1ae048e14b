#pragma once

#include <imbrex/dsl.hpp>

namespace imbrex::aot_kernels {

/// Of which tests compile several, whose launches ask for different things.
template <int Cluster, bool IsCooperative, bool IsProgrammatic>
struct shifted {
  static constexpr cluster_shape cluster{Cluster};
  static constexpr bool cooperative = IsCooperative, programmatic = IsProgrammatic;
  static constexpr names parameters{"x", "y", "by"};
  void operator()(view<const f32, 1> x, view<f32, 1> y, scalar<f32> by) const {
    const auto here = box<32>(program_id(0));
    y[here] = x[here] + by;
  }
};

using gathered = shifted<1, true, false>;
using paired = shifted<2, false, false>;
using sixteen = shifted<16, false, false>;
using chained = shifted<1, false, true>;

} // namespace imbrex::aot_kernels
