// Dropout: random numbers that need no memory. Philox is a function of a seed and an offset, the
// same on every device, so that the backward kernel draws again what the forward kernel drew
// instead of reading a mask that somebody stored.

#include "../support.hpp"

using namespace imbrex;

constexpr int block = 2048;

// Which elements of block i stay: each with probability `keep`. Its offset is its place in the
// array.
inline auto kept(const scalar<i32> &i, const scalar<u64> &seed, const scalar<f32> &keep) {
  return rand(seed, i * block + arange<0, block>()) < keep;
}

struct dropout {
  void operator()(view<const f32, 1> x, scalar<u64> seed, scalar<f32> keep, view<f32, 1> y) const {
    auto i = program_id(0);
    auto here = box<block>(i);
    y[here] = where(kept(i, seed, keep), x[here] / keep, 0.0F);
  }
};

// The gradient goes where the value went. It is added to what is there, as gradients are.
struct dropout_backward {
  void operator()(view<const f32, 1> dy, scalar<u64> seed, scalar<f32> keep,
                  view<f32, 1> dx) const {
    auto i = program_id(0);
    auto here = box<block>(i);
    dx[here] += where(kept(i, seed, keep), dy[here] / keep, 0.0F);
  }
};

int main() {
  const int n = example::size(4'000'000, 20'000);
  const std::uint64_t seed = 2026;
  const float keep = 0.8F;
  buffer<f32> x(n), y(n), dy(n), dx(n);
  example::randomise(x, 1);
  example::randomise(dy, 2);

  auto forward = jit(dropout{});
  auto backward = jit(dropout_backward{});
  const double milliseconds = example::best_milliseconds([&] {
    dx.fill(0);
    forward(grid(cdiv(n, block)), x, seed, keep, y);
    backward(grid(cdiv(n, block)), dy, seed, keep, dx);
  });

  // A dropped element is zero, another is divided by `keep`; and the gradient was dropped with it,
  // so that dx · x = y · dy.
  example::max_error error;
  int dropped = 0;
  for (int i = 0; i < n; ++i) {
    dropped += y[i] == 0 ? 1 : 0;
    error.compare(y[i], y[i] == 0 ? 0 : x[i] / static_cast<double>(keep));
    error.compare(static_cast<double>(dx[i]) * x[i], static_cast<double>(y[i]) * dy[i]);
  }
  // Five standard deviations of a binomial distribution.
  const double wanted = n * (1.0 - keep), spread = std::sqrt(wanted * keep);
  std::printf("dropped %d of %d elements\n", dropped, n);
  if (std::fabs(dropped - wanted) > 5 * spread) return 1;
  return example::report(error, 1e-5, milliseconds, 6.0 * n * sizeof(f32), "gbs");
}
