// A product with weights of 4 bits: they are unpacked, shifted and scaled in registers, right where
// the matrix unit takes them.
//
//   y = x · wᵀ        w = (nibble - 8) · scale, with a scale for each row and each GROUP of its
//   nibbles

#include "../support.hpp"

using namespace imbrex;

// One block computes one BM × BN tile of y, stepping through the inner extent a group at a time.
template <int BM, int BN, int GROUP>
struct quantised_product {
  void operator()(view<const bf16, 2> x, view<const u8, 2> packed, view<const bf16, 2> scales,
                  view<f32, 2> y) const {
    auto [m, n] = program_id<2>();
    var acc = zeros<f32, BM, BN>();
    for (auto g : range(0, scales.extent(1)).pipelined(3)) {
      // Two neighbours share a byte, the first one in its lower half.
      tile<u8, BN, GROUP / 2> pairs = packed[box<BN, GROUP / 2>(n, g)];
      auto nibbles = reshape<BN, GROUP>(join(pairs & 15, pairs >> 4));
      tile<bf16, BN, GROUP> w = cast<bf16>(cast<i8>(nibbles) - 8) * scales[box<BN, 1>(n, g)];
      acc += dot(x[box<BM, GROUP>(m, g)], permute<1, 0>(w));
    }
    y[box<BM, BN>(m, n)] = acc;
  }
};

int main() {
  constexpr int BM = 16, BN = 128, GROUP = 64;
  const int M = 16, N = example::size(4096, 200), K = example::size(4096, 192);
  buffer<bf16> x(M, K), scales(N, K / GROUP);
  buffer<u8> packed(N, K / 2);
  buffer<f32> y(M, N);
  example::randomise(x, 1);
  example::randomise(scales, 2);
  std::mt19937 random(3);
  for (u8 &pair : packed) pair = static_cast<u8>(random());

  auto kernel = jit(quantised_product<BM, BN, GROUP>{});
  const double milliseconds = example::best_milliseconds(
      [&] { kernel(grid(cdiv(M, BM), cdiv(N, BN)), x, packed, scales, y); });

  // A weight times its scale is rounded to bf16, as the kernel does it; the sums are not.
  example::max_error error;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; j += example::size(37, 1)) {
      double sum = 0, size = 0;
      for (int k = 0; k < K; ++k) {
        const int nibble = packed(j, k / 2) >> (k % 2 * 4) & 15;
        const bf16 weight(static_cast<float>(nibble - 8) *
                          static_cast<float>(scales(j, k / GROUP)));
        const double term = static_cast<double>(static_cast<float>(x(i, k))) *
                            static_cast<double>(static_cast<float>(weight));
        sum += term;
        size += std::fabs(term);
      }
      error.compare(y(i, j) / size, sum / size);
    }
  std::printf("%d x %d x %d, %d bytes of weights\n", M, N, K, N * K / 2);
  return example::report(error, 1e-5, milliseconds, 2.0 * M * N * K, "gflops");
}
