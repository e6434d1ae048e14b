#pragma once

#include <cstdint>
#include <functional>

/// The libraries that we measure against, each behind a function that does the work once. Set-up
/// (primitives, descriptions, workspaces) is done when the function is made.
namespace bench {

/// Copy `bytes` (a multiple of 64, both ends aligned to 64) by the fastest way found here: memcpy
/// or a loop of streaming stores.
std::function<void()> copyPeer(const void *from, void *to, std::size_t bytes);

/// oneDNN's softmax along the rows of a rows x columns f32 matrix.
std::function<void()> softmaxPeer(float *in, float *out, std::int64_t rows, std::int64_t columns);

/// oneDNN's layer normalisation along rows, with scale and shift.
std::function<void()> layerNormPeer(float *in, float *scale, float *shift, float *out,
                                    std::int64_t rows, std::int64_t columns);

/// OpenBLAS: c = a b, n x n, row-major f32.
std::function<void()> matmulPeer(const float *a, const float *b, float *c, std::int64_t n);

/// oneDNN: c = a b, n x n, row-major i8 with sums of i32.
std::function<void()> matmulI8Peer(const std::int8_t *a, const std::int8_t *b, std::int32_t *c,
                                   std::int64_t n);

/// oneDNN: c = gelu(a b + bias), n x n, row-major f32, bias and gelu (erf) fused into the product.
std::function<void()> matmulGeluPeer(float *a, float *b, float *bias, float *c, std::int64_t n);

/// What runs behind the peers: library versions and OpenBLAS's choice of core.
const char *peerVersions();

} // namespace bench
