// Matrix product with bias and GELU: dot, a pipelined loop, and an epilogue that works on the
// product while it is still at hand.
//
//   y = gelu(a · b + bias)        gelu(z) = z / 2 · (1 + erf(z / sqrt(2)))

#include "../support.hpp"

using namespace imbrex;

// One block computes one BM × BN tile of y, stepping through the inner extent BK at a time.
template <int BM, int BN, int BK>
struct matmul_bias_gelu {
  void operator()(view<const f32, 2> a, view<const f32, 2> b, view<const f32, 1> bias,
                  view<f32, 2> y) const {
    auto [m, n] = program_id<2>();
    var acc = zeros<f32, BM, BN>();
    // What the boxes read beyond the edges is zero and adds nothing. `pipelined` lets a machine
    // fetch the tiles of later steps while it multiplies those of an earlier one.
    for (auto k : range(0, cdiv(a.extent(1), BK)).pipelined(3))
      acc += dot(a[box<BM, BK>(m, k)], b[box<BK, BN>(k, n)]);
    auto z = acc + expand<0>(bias[box<BN>(n)]);
    y[box<BM, BN>(m, n)] = 0.5 * z * (1 + erf(z * 0.70710678118654752));
  }
};

int main() {
  const int M = example::size(1000, 70), N = example::size(1024, 100), K = example::size(900, 50);
  buffer<f32> a(M, K), b(K, N), bias(N), y(M, N);
  example::randomise(a, 1);
  example::randomise(b, 2);
  example::randomise(bias, 3);

  auto kernel = jit(matmul_bias_gelu<64, 128, 64>{});
  const double milliseconds =
      example::best_milliseconds([&] { kernel(grid(cdiv(M, 64), cdiv(N, 128)), a, b, bias, y); });

  // Every row in float64 would take longer than all else; a sample of rows shows the same.
  example::max_error error;
  for (int i = 0; i < M; i += example::size(37, 1))
    for (int j = 0; j < N; ++j) {
      double z = bias[j];
      for (int k = 0; k < K; ++k) z += static_cast<double>(a(i, k)) * b(k, j);
      error.compare(y(i, j), 0.5 * z * (1 + std::erf(z / std::sqrt(2))));
    }
  std::printf("%d x %d x %d\n", M, N, K);
  return example::report(error, 1e-3, milliseconds, 2.0 * M * N * K, "gflops");
}
