#pragma once

// Kernels in exact and in fast arithmetic: what the exact one costs in instructions.

#include <imbrex/imbrex.hpp>

#include <cmath>
#include <vector>

namespace bench {

using namespace imbrex;

/// The machine's own instructions, and what is written in exact ones.
struct fast_forms {
  static constexpr const char *suffix = "_fast";
  static auto exponential(const auto &x) { return fast::exp(x); }
  static auto logarithm(const auto &x) { return fast::log(x); }
  static auto inverse_root(const auto &x) { return fast::rsqrt(x); }
  static auto quotient(const auto &a, const auto &b) { return fast::div(a, b); }
};
struct exact_forms {
  static constexpr const char *suffix = "_exact";
  static auto exponential(const auto &x) { return exp(x); }
  static auto logarithm(const auto &x) { return log(x); }
  static auto inverse_root(const auto &x) { return rsqrt(x); }
  static auto quotient(const auto &a, const auto &b) { return a / b; }
};

inline constexpr int kColumns = 1024;

template <class Forms>
struct row_softmax {
  void operator()(view<const f32, 2> in, view<f32, 2> out) const {
    auto here = box<1, kColumns>(program_id(0), 0);
    auto x = in[here.pad(-INFINITY)];
    tile<f32, 1, kColumns> e = Forms::exponential(x - max<1>(x, keep_dims));
    out[here] = Forms::quotient(e, sum<1>(e, keep_dims));
  }
};

template <class Forms>
struct row_layer_norm {
  void operator()(view<const f32, 2> in, view<const f32, 1> scale, view<const f32, 1> shift,
                  view<f32, 2> out) const {
    auto here = box<1, kColumns>(program_id(0), 0);
    auto all = box<kColumns>(0);
    auto x = in[here];
    tile<f32, 1, kColumns> centred = x - sum<1>(x, keep_dims) / kColumns;
    auto variance = sum<1>(centred * centred, keep_dims) / kColumns;
    out[here] = centred * Forms::inverse_root(variance + 1e-5F) * expand<0>(scale[all]) +
                expand<0>(shift[all]);
  }
};

/// The loss of a row of logits, and its gradient.
template <class Forms>
struct row_cross_entropy {
  void operator()(view<const f32, 2> logits, view<const i32, 1> labels, view<f32, 1> losses,
                  view<f32, 2> gradients) const {
    auto row = program_id(0);
    auto here = box<1, kColumns>(row, 0);
    auto x = logits[here.pad(-INFINITY)];
    auto most = max<1>(x, keep_dims);
    tile<f32, 1, kColumns> e = Forms::exponential(x - most);
    auto total = sum<1>(e, keep_dims);
    auto label = expand<1>(labels[box<1>(row)]);
    auto is_label = expand<0>(arange<0, kColumns>()) == label;
    auto own = sum<1>(where(is_label, x, 0.0F));
    losses[box<1>(row)] = reshape<1>(Forms::logarithm(total) + most) - own;
    gradients[here] = Forms::quotient(e, total) - where(is_label, 1.0F, 0.0F);
  }
};

template <class Forms>
void add_row_kernels(std::vector<traced_kernel> &kernels) {
  const auto name = [](const std::string &kernel) { return kernel + Forms::suffix; };
  kernels.push_back(trace(row_softmax<Forms>{}, {.name = name("row_softmax")}));
  kernels.push_back(trace(row_layer_norm<Forms>{}, {.name = name("row_layer_norm")}));
  kernels.push_back(trace(row_cross_entropy<Forms>{}, {.name = name("row_cross_entropy")}));
}

} // namespace bench
