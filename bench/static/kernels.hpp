#pragma once

// The kernels whose code is compared with a compiler of C++, as a user would write them. A block
// takes one tile; rivals.cu has each of them by hand, with as many threads and equally wide
// accesses.

#include <imbrex/imbrex.hpp>

#include <cmath>
#include <vector>

namespace bench {

using namespace imbrex;

struct vector_add {
  static constexpr const char *name = "vector_add";
  void operator()(view<const f32, 1> a, view<const f32, 1> b, view<f32, 1> sum) const {
    auto here = box<1024>(program_id(0));
    sum[here] = a[here] + b[here];
  }
};

struct softmax {
  static constexpr const char *name = "softmax";
  void operator()(view<const f32, 2> in, view<f32, 2> out) const {
    auto here = box<1, 1024>(program_id(0), 0);
    auto x = in[here.pad(-INFINITY)];
    auto e = exp(x - max<1>(x, keep_dims));
    out[here] = e / sum<1>(e, keep_dims);
  }
};

struct layer_norm {
  static constexpr const char *name = "layer_norm";
  void operator()(view<const f32, 2> in, view<const f32, 1> scale, view<const f32, 1> shift,
                  view<f32, 2> out) const {
    constexpr int columns = 1024;
    auto here = box<1, columns>(program_id(0), 0);
    auto all = box<columns>(0);
    auto x = in[here];
    auto factors = scale[all];
    auto offsets = shift[all];
    auto centred = x - sum<1>(x, keep_dims) / columns;
    auto variance = sum<1>(centred * centred, keep_dims) / columns;
    out[here] = centred * fast::rsqrt(variance + 1e-5F) * expand<0>(factors) + expand<0>(offsets);
  }
};

struct transpose {
  static constexpr const char *name = "transpose";
  void operator()(view<const f32, 2> in, view<f32, 2> out) const {
    auto [row, column] = program_id<2>();
    out[box<64, 64>(column, row)] = permute<1, 0>(in[box<64, 64>(row, column)]);
  }
};

/// The sums of the pieces of an array.
struct reduction {
  static constexpr const char *name = "reduction";
  void operator()(view<const f32, 1> in, view<f32, 1> sums) const {
    auto piece = program_id(0);
    sums[box<1>(piece)] = full<f32, 1>(sum<0>(in[box<4096>(piece)]));
  }
};

inline std::vector<traced_kernel> static_kernels() {
  return {trace(vector_add{}), trace(softmax{}), trace(layer_norm{}), trace(transpose{}),
          trace(reduction{})};
}

} // namespace bench
