#pragma once

#include <imbrex/dsl.hpp>

// y[i, :] = scale * x[i, :] / sqrt(mean(x[i, :]²) + epsilon), for rows of up to Width elements: a
// kernel as any other. jit compiles it when a program runs; IMBREX_KERNEL when it is built.
template <int Width>
struct rms_norm {
  static constexpr imbrex::names parameters{"x", "scale", "y", "epsilon"};
  static constexpr int rows = 4;

  void operator()(imbrex::view<const float, 2> x, imbrex::view<const float, 1> scale,
                  imbrex::view<float, 2> y, imbrex::scalar<float> epsilon) const {
    using namespace imbrex;
    require(x.extent(0) == y.extent(0) && x.extent(1) == y.extent(1), "y is as large as x");
    require(scale.extent(0) == x.extent(1), "each column has a scale");
    require(x.extent(1) <= Width, "a row fits into the tile");
    auto here = box<rows, Width>(program_id(0), 0);
    auto row = x[here];
    auto mean = sum<1>(row * row, keep_dims) / cast<f32>(x.extent(1));
    y[here] = row * rsqrt(mean + epsilon) * expand<0>(scale[box<Width>(0)]);
  }

  // How many blocks a launch has, so that whoever launches need not know.
  auto blocks(imbrex::view<const float, 2> x, imbrex::view<const float, 1> /*scale*/,
              imbrex::view<float, 2> /*y*/, imbrex::scalar<float> /*epsilon*/) const {
    return imbrex::cdiv(x.extent(0), rows);
  }
};
