// The k best of each row: a kernel of the library, and a variation of it. A sparse update keeps of
// each row of a gradient the few numbers that are largest in size, whatever their sign.

#include "../support.hpp"
#include <imbrex/kernels/block_select_topk.hpp>

#include <algorithm>
#include <numeric>

using namespace imbrex;

// What a score counts as. The library's own is itself: kernels::as_it_is.
struct magnitude {
  template <class Tile>
  auto operator()(const Tile &scores) const {
    return abs(scores);
  }
};

// The places of the kept numbers say where each belongs: out(row, i) = x(row, places(row, i)).
template <int k>
struct take {
  void operator()(view<const f32, 2> x, view<const i32, 2> places, view<f32, 2> out) const {
    auto row = program_id(0);
    auto chosen = squeeze<0>(places[box<1, k>(row, 0)]);
    auto first = x.data() + cast<i64>(row) * x.stride(0);
    out[box<1, k>(row, 0)] = expand<0>(load(first + chosen, chosen >= 0));
  }
};

int main() {
  constexpr int k = 8;
  const int rows = example::size(512, 4), columns = example::size(10'000, 700);
  buffer<f32> gradient(rows, columns), kept(rows, k);
  buffer<i32> places(rows, k);
  example::randomise(gradient, 1);

  auto take_kept = jit(take<k>{});
  const double milliseconds = example::best_milliseconds([&] {
    kernels::block_select_topk<magnitude>(device::current(), gradient, k, places);
    take_kept(grid(rows), gradient, places, kept);
  });

  example::max_error error;
  std::vector<int> order(static_cast<std::size_t>(columns));
  for (int row = 0; row < rows; ++row) {
    const auto size = [&](int i) { return std::fabs(gradient(row, i)); };
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int a, int b) { return size(a) > size(b); });
    for (int i = 0; i < k; ++i) error.compare(places(row, i), order[static_cast<std::size_t>(i)]);
    for (int i = 0; i < k; ++i) error.compare(kept(row, i), gradient(row, places(row, i)));
  }
  std::printf("kept %d of %d numbers in each of %d rows\n", k, columns, rows);
  return example::report(error, 0, milliseconds, 1.0 * rows * columns * sizeof(f32), "gbs");
}
