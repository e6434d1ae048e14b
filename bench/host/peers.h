#pragma once

#include <cstdint>
#include <functional>

/// The libraries that we measure against, each behind a function that does the work once. Set-up
/// (primitives, descriptions, workspaces) is done when the function is made.
namespace bench {

/// Copy `bytes` (a multiple of 64, both ends aligned to 64) by the fastest way found here: memcpy
/// or a loop of streaming stores.
std::function<void()> copyPeer(const void *from, void *to, std::size_t bytes);

/// What no product of f32 on this processor can be faster than: so many operations (two for each
/// multiply-add) on registers, in vectors as wide as it has, and nothing else. Empty where this has
/// no vectors to offer.
std::function<void()> multiplyAddsAlone(double operations);

/// oneDNN's softmax along the rows of a rows x columns f32 matrix.
std::function<void()> softmaxPeer(float *in, float *out, std::int64_t rows, std::int64_t columns);

/// oneDNN's layer normalisation along rows, with scale and shift.
std::function<void()> layerNormPeer(float *in, float *scale, float *shift, float *out,
                                    std::int64_t rows, std::int64_t columns);

/// c = a b of row-major matrices m x k and k x n, once or for each of a batch that follow each
/// other.
struct ProductShape {
  std::int64_t m, n, k, batch = 1;
  double operations() const { return 2.0 * static_cast<double>(batch * m) * double(n) * double(k); }
};

/// OpenBLAS, in f32; a batch in a loop.
std::function<void()> blasProduct(const ProductShape &shape, const float *a, const float *b,
                                  float *c);

/// oneDNN: f32, bf16 with sums of f32, i8 with sums of i32. `bias`, where there is one: c =
/// gelu(a b + bias), both fused into the product, gelu by erf. Empty where this processor has none.
enum class ProductType : std::uint8_t { F32, Bf16, I8 };
std::function<void()> dnnlProduct(ProductType type, const ProductShape &shape, const void *a,
                                  const void *b, void *c, const float *bias = nullptr);

struct AttentionShape {
  std::int64_t heads, length, depth;
  bool isCausal;
};

/// The forward pass of attention, composed: OpenBLAS's products around oneDNN's softmax, head by
/// head, and of causal attention 256 rows at a time, as far as the last of them sees; `scores` has
/// room for length x length. Causal: the length is a multiple of 256.
std::function<void()> attentionPeer(const AttentionShape &shape, const float *q, const float *k,
                                    const float *v, float *o, float *scores);

/// What runs behind the peers: library versions and OpenBLAS's choice of core.
const char *peerVersions();

} // namespace bench
