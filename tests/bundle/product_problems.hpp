#pragma once

// Products of matrices and attention with numbers in them: what `products` runs on a device, and
// with what it compares the results.

#include "backend/ir/argument.h"
#include "bench/static/product_kernels.hpp"
#include "tests/bundle/product_numbers.hpp"

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// The kernel with one size of tiles.
struct ProductVariant {
  std::string name;
  std::function<traced_kernel()> record;
  imbrex::ir::Grid grid;
};

struct ProductProblem {
  std::string name;
  std::string description; ///< Members of a JSON object, for a peer that does the same.
  double flops;
  double allowedError;
  std::vector<ProductArray> arrays; ///< The last is the result.
  std::vector<std::uint64_t> scalars;
  std::vector<ProductVariant> variants;
  /// Make the operands, of a normal distribution, and poison the result.
  std::function<void(std::vector<ProductArray> &)> fill;
  /// How far some rows of the result are off, in parts of the reference and of what its numbers
  /// mostly are.
  std::function<double(const std::vector<ProductArray> &)> error;
};

namespace detail {

inline std::int32_t blocks(std::int64_t extent, int tile) {
  return static_cast<std::int32_t>((extent + tile - 1) / tile);
}

} // namespace detail

struct GemmShape {
  std::int64_t m, n, k;
  bool isTransposed = false;
};

template <class T, class Sum, class Out>
class GemmProblem {
public:
  explicit GemmProblem(GemmShape shape) : shape_(shape) {
    const auto [m, n, k, isTransposed] = shape;
    const std::string type(element_name<T>), out(element_name<Out>);
    const std::string extents =
        std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
    problem_.name = "gemm_" + type + "_" + extents + (isTransposed ? "_abt" : "_ab");
    problem_.description = "\"kind\": \"gemm\", \"type\": \"" + type + "\", \"out\": \"" + out +
                           "\", \"m\": " + std::to_string(m) + ", \"n\": " + std::to_string(n) +
                           ", \"k\": " + std::to_string(k) +
                           ", \"transposed\": " + (isTransposed ? "true" : "false");
    problem_.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    // Of halves little more than the result's own rounding; f8 is summed with fewer bits on some
    // machines.
    problem_.allowedError = std::is_integral_v<T> ? 0 : sizeof(T) > 1 ? 4e-3 : 1e-2;
    problem_.arrays = {{m, k, sizeof(T), {}},
                       {isTransposed ? n : k, isTransposed ? k : n, sizeof(T), {}},
                       {m, n, sizeof(Out), {}}};
    problem_.fill = [](std::vector<ProductArray> &arrays) {
      detail::fill_normal<T>(arrays[0], 1);
      detail::fill_normal<T>(arrays[1], 2);
      detail::poison(arrays[2]);
    };
    problem_.error = [isTransposed](const std::vector<ProductArray> &arrays) {
      return detail::gemm_error<T, Out>(arrays, isTransposed);
    };
  }

  template <int BM, int BN, int BK>
  GemmProblem &&tiles(int warps) && {
    const bool isTransposed = shape_.isTransposed;
    problem_.variants.push_back(
        {.name = std::to_string(BM) + "x" + std::to_string(BN) + "x" + std::to_string(BK),
         .record =
             [=] {
               return trace(tiled_gemm<T, Sum, Out, BM, BN, BK>{.is_transposed = isTransposed},
                            {.name = "gemm", .warps = warps});
             },
         .grid = {.extents = {detail::blocks(shape_.m, BM), detail::blocks(shape_.n, BN), 1}}});
    return std::move(*this);
  }
  ProductProblem problem() && { return std::move(problem_); }

private:
  GemmShape shape_;
  ProductProblem problem_;
};

struct AttentionShape {
  std::int64_t heads, length;
  bool isCausal = false;
};

template <class T, int D>
class AttentionProblem {
public:
  explicit AttentionProblem(AttentionShape shape) : shape_(shape) {
    const auto [heads, length, isCausal] = shape;
    const std::string type(element_name<T>);
    problem_.name = "attention_" + type + "_d" + std::to_string(D) + "_" + std::to_string(heads) +
                    "x" + std::to_string(length) + (isCausal ? "_causal" : "");
    problem_.description =
        "\"kind\": \"attention\", \"type\": \"" + type + "\", \"out\": \"" + type +
        "\", \"heads\": " + std::to_string(heads) + ", \"length\": " + std::to_string(length) +
        ", \"k\": " + std::to_string(D) + ", \"causal\": " + (isCausal ? "true" : "false");
    // Two products; of the causal one half is needed.
    problem_.flops = 4.0 * static_cast<double>(heads * length) * static_cast<double>(length) * D *
                     (isCausal ? 0.5 : 1);
    // The weights are halves, too: the errors of a sum of them have a standard deviation of about
    // 0.002 of what its numbers usually are, and of millions of results some are off by more than
    // five of those. An H100 gave 0.014 over 128 x 4096 rows of 64.
    problem_.allowedError = 2e-2;
    for (int i = 0; i < 4; ++i) problem_.arrays.push_back({heads * length, D, sizeof(T), {}});
    const float scale = 1 / std::sqrt(static_cast<float>(D));
    std::uint32_t bits = 0;
    std::memcpy(&bits, &scale, sizeof(bits));
    problem_.scalars = {static_cast<std::uint64_t>(length), bits};
    problem_.fill = [](std::vector<ProductArray> &arrays) {
      for (unsigned i = 0; i < 3; ++i) detail::fill_normal<T>(arrays[i], i + 1);
      detail::poison(arrays[3]);
    };
    problem_.error = [length = length, isCausal = isCausal,
                      scale](const std::vector<ProductArray> &arrays) {
      return detail::attention_error<T>(arrays, length, static_cast<double>(scale), isCausal);
    };
  }

  template <int BM, int BN>
  AttentionProblem &&tiles(int warps) && {
    const bool isCausal = shape_.isCausal;
    problem_.variants.push_back(
        {.name = std::to_string(BM) + "x" + std::to_string(BN) + "_" + std::to_string(warps),
         .record =
             [=] {
               return trace(tiled_attention<T, BM, BN, D>{.is_causal = isCausal},
                            {.name = "attention", .warps = warps});
             },
         .grid = {.extents = {detail::blocks(shape_.length, BM),
                              static_cast<std::int32_t>(shape_.heads), 1}}});
    return std::move(*this);
  }
  ProductProblem problem() && { return std::move(problem_); }

private:
  AttentionShape shape_;
  ProductProblem problem_;
};

} // namespace bench
