// One kernel, compiled both ways: when the program runs, by jit, and when it was built, into a
// library that a program links which has no compiler in it (from_c.c, from_python.py).

#include "../support.hpp"
#include "kernel.hpp"
#include "normalise.hpp" // which the build has written

using namespace imbrex;

int main() {
  const int rows = example::size(4096, 30);
  constexpr int columns = 1000; // the tile has 1024
  constexpr float epsilon = 1e-5F;
  buffer<f32> x(rows, columns), scale(columns), y(rows, columns);
  example::randomise(x, 1);
  example::randomise(scale, 2);

  auto kernel = jit(rms_norm<1024>{});
  const double milliseconds = example::best_milliseconds([&] { kernel(x, scale, y, epsilon); });

  // The library's, on the host.
  std::vector<f32> ahead(static_cast<std::size_t>(rows) * columns);
  const auto came = normalise::rms_norm(aot::stream_ref::host(),
                                        aot::array<const f32, 2>(x.data(), {rows, columns}),
                                        aot::array<const f32, 1>(scale.data(), {columns}),
                                        aot::array<f32, 2>(ahead.data(), {rows, columns}), epsilon);
  if (!came) return std::puts(came.message()), 1;

  example::max_error error;
  for (int i = 0; i < rows; ++i) {
    double squares = 0;
    for (int j = 0; j < columns; ++j) squares += double(x(i, j)) * x(i, j);
    for (int j = 0; j < columns; ++j) {
      const double expected = x(i, j) / std::sqrt(squares / columns + epsilon) * scale(j);
      error.compare(y(i, j), expected);
      error.compare(ahead[static_cast<std::size_t>(i * columns + j)], expected);
    }
  }
  std::printf("%d rows of %d elements, by jit and by the library\n", rows, columns);
  return example::report(error, 1e-5, milliseconds, 2.0 * rows * columns * sizeof(f32), "gbs");
}
