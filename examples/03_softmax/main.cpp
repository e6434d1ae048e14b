// Row softmax: reductions along an axis. A block takes a few whole rows and finds the largest
// element of each, the exponentials and their sum without going back to memory.

#include "../support.hpp"

using namespace imbrex;

// y[i, :] = exp(x[i, :] - max) / sum(exp(x[i, :] - max)). Width is at least the length of a row.
template <int Width>
struct softmax {
  static constexpr int rows = 4;

  void operator()(view<const f32, 2> x, view<f32, 2> y) const {
    auto here = box<rows, Width>(program_id(0), 0);
    // What lies beyond the end of a row reads as -infinity: it is never the largest, and its
    // exponential is zero.
    auto row = x[here.pad(-constants::infinity)];
    // keep_dims leaves the reduced axis, with extent 1, so that it is repeated along the row.
    auto e = exp(row - max<1>(row, keep_dims));
    y[here] = e / sum<1>(e, keep_dims);
  }
};

int main() {
  const int rows = example::size(4096, 30);
  constexpr int columns = 1000; // the tile has 1024
  buffer<f32> x(rows, columns), y(rows, columns);
  example::randomise(x, 1);

  using kernel_type = softmax<1024>;
  auto kernel = jit(kernel_type{});
  const double milliseconds =
      example::best_milliseconds([&] { kernel(grid(cdiv(rows, kernel_type::rows)), x, y); });

  example::max_error error;
  for (int i = 0; i < rows; ++i) {
    double largest = -HUGE_VAL, sum = 0;
    for (int j = 0; j < columns; ++j) largest = std::fmax(largest, x(i, j));
    for (int j = 0; j < columns; ++j) sum += std::exp(x(i, j) - largest);
    for (int j = 0; j < columns; ++j) error.compare(y(i, j), std::exp(x(i, j) - largest) / sum);
  }
  std::printf("%d rows of %d elements\n", rows, columns);
  return example::report(error, 1e-6, milliseconds, 2.0 * rows * columns * sizeof(f32), "gbs");
}
