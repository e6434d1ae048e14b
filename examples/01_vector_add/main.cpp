// Vector add: the smallest kernel. A grid of blocks runs it, and each block adds one tile of the
// arrays, chosen by its index in the grid.

#include "../support.hpp"

using namespace imbrex;

// c = a + b. A box that reaches beyond the end of a view reads zeros there and writes nothing, so
// that any size will do.
struct vector_add {
  static constexpr int block = 1024;

  void operator()(view<const f32, 1> a, view<const f32, 1> b, view<f32, 1> c) const {
    auto here = box<block>(program_id(0));
    c[here] = a[here] + b[here];
  }
};

int main() {
  const int n = example::size(10'000'000, 10'000);
  buffer<f32> a(n), b(n), c(n);
  example::randomise(a, 1);
  example::randomise(b, 2);

  auto add = jit(vector_add{});
  const auto launch = [&] { add(grid(cdiv(n, vector_add::block)), a, b, c); };
  const double milliseconds = example::best_milliseconds(launch);

  example::max_error error;
  for (int i = 0; i < n; ++i) error.compare(c[i], static_cast<double>(a[i]) + b[i]);
  std::printf("added %d elements in blocks of %d\n", n, vector_add::block);
  return example::report(error, 1e-6, milliseconds, 3.0 * n * sizeof(f32), "gbs");
}
