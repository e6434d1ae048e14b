// Fused elementwise arithmetic: a kernel is one pass over memory however long its formula is. This
// one is the gate of a transformer's feed-forward layer, on matrices stored as bf16:
//
//   y = silu(scale · x + bias) · gate        silu(z) = z / (1 + e^-z)

#include "../support.hpp"

using namespace imbrex;

// A function of tiles is an ordinary C++ template; the kernel that calls it has its operations.
template <class Tile>
auto silu(const Tile &z) {
  return z / (1 + exp(-z));
}

struct gated_silu {
  static constexpr int rows = 8, columns = 512;

  void operator()(view<const bf16, 2> x, view<const bf16, 2> gate, view<const f32, 1> bias,
                  scalar<f32> scale, view<bf16, 2> y) const {
    auto [i, j] = program_id<2>();
    auto here = box<rows, columns>(i, j);
    // bf16 is for storage: the arithmetic is f32, and only what is stored is rounded again. The row
    // of biases gets an axis of extent 1 in front, along which it is repeated.
    auto z = scale * cast<f32>(x[here]) + expand<0>(bias[box<columns>(j)]);
    y[here] = cast<bf16>(silu(z) * cast<f32>(gate[here]));
  }
};

int main() {
  const int rows = example::size(2000, 20), columns = example::size(3000, 700);
  const float scale = 0.75F;
  buffer<bf16> x(rows, columns), gate(rows, columns), y(rows, columns);
  buffer<f32> bias(columns);
  example::randomise(x, 1);
  example::randomise(gate, 2);
  example::randomise(bias, 3);

  auto kernel = jit(gated_silu{});
  const grid blocks(cdiv(rows, gated_silu::rows), cdiv(columns, gated_silu::columns));
  const double milliseconds =
      example::best_milliseconds([&] { kernel(blocks, x, gate, bias, scale, y); });

  // Rounding to bf16 costs up to one part in 256; what is compared is the error beyond that size.
  example::max_error error;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      const double z = scale * static_cast<double>(x(i, j)) + bias[j];
      const double wanted = z / (1 + std::exp(-z)) * static_cast<double>(gate(i, j));
      error.compare(static_cast<double>(y(i, j)) / std::fmax(1, std::fabs(wanted)),
                    wanted / std::fmax(1, std::fabs(wanted)));
    }
  std::printf("one pass over %d x %d elements of bf16\n", rows, columns);
  return example::report(error, 1.0 / 256, milliseconds, 3.0 * rows * columns * sizeof(bf16),
                         "gbs");
}
