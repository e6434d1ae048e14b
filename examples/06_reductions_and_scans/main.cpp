// Reductions and scans beyond one tile, with a combine of one's own.
//
// First: mean and variance of a long array in one pass, where what is combined is a triple (count,
// mean, sum of squared deviations). Then: running sums of the array. A block knows the sums before
// its own tile only when all blocks before it are done, so that it takes three launches: the sum of
// each tile, their running sums, and the running sums within each tile from there.

#include "../support.hpp"

using namespace imbrex;

constexpr int tile_size = 4096;
constexpr int most_tiles = 1024;

// Chan's rule for two samples; associative, as a combine must be.
constexpr auto join_samples = [](auto n1, auto mean1, auto m1, auto n2, auto mean2, auto m2) {
  scalar<f32> n = n1 + n2;
  scalar<f32> share = where(n > 0, n2 / n, 0.0F);
  scalar<f32> delta = mean2 - mean1;
  return std::tuple(n, scalar<f32>(mean1 + delta * share),
                    scalar<f32>(m1 + m2 + delta * delta * n1 * share));
};

// The triple of each tile; elements beyond the end of the array count as no sample at all.
struct sample_tiles {
  void operator()(view<const f32, 1> x, view<f32, 2> samples) const {
    auto i = program_id(0);
    auto values = x[box<tile_size>(i)];
    auto inside = cast<i64>(i) * tile_size + cast<i64>(arange<0, tile_size>()) < x.extent(0);
    auto none = zeros<f32, tile_size>();
    auto [n, mean, m2] = reduce<0>(std::tuple{cast<f32>(inside), values, none}, join_samples);
    store(samples.data() + i * 3, n);
    store(samples.data() + i * 3 + 1, mean);
    store(samples.data() + i * 3 + 2, m2);
  }
};

struct sample_all {
  void operator()(view<const f32, 2> samples, view<f32, 1> result) const {
    auto column = [&](int c) { return squeeze<1>(samples[box_at<most_tiles, 1>(0, c)]); };
    auto [n, mean, m2] = reduce<0>(std::tuple{column(0), column(1), column(2)}, join_samples);
    store(result.data(), mean);
    store(result.data() + 1, m2 / n);
  }
};

struct sum_tiles {
  void operator()(view<const f32, 1> x, view<f64, 1> sums) const {
    store(sums.data() + program_id(0), sum(cast<f64>(x[box<tile_size>(program_id(0))])));
  }
};

// For each tile the sum of all tiles before it.
struct scan_sums {
  void operator()(view<f64, 1> sums) const {
    sums[box<most_tiles>(0)] = cumsum<0>(sums[box<most_tiles>(0)], exclusive);
  }
};

struct scan_tiles {
  void operator()(view<const f32, 1> x, view<const f64, 1> before, view<f64, 1> running) const {
    auto here = box<tile_size>(program_id(0));
    running[here] = cumsum<0>(cast<f64>(x[here])) + load(before.data() + program_id(0));
  }
};

int main() {
  const int n = example::size(2'000'000, 20'000), tiles = cdiv(n, tile_size);
  buffer<f32> x(n), samples(tiles, 3), result(2);
  buffer<f64> sums(tiles), running(n);
  example::randomise(x, 1);

  auto sample = jit(sample_tiles{});
  auto merge = jit(sample_all{});
  auto add = jit(sum_tiles{});
  auto scan_between = jit(scan_sums{});
  auto scan_within = jit(scan_tiles{});
  const double milliseconds = example::best_milliseconds([&] {
    sample(grid(tiles), x, samples);
    merge(grid(1), samples, result);
    add(grid(tiles), x, sums);
    scan_between(grid(1), sums);
    scan_within(grid(tiles), x, sums, running);
  });

  double sum = 0, squares = 0;
  example::max_error error;
  for (int i = 0; i < n; ++i) error.compare(running[i], sum += x[i]);
  for (int i = 0; i < n; ++i) squares += (x[i] - sum / n) * (x[i] - sum / n);
  error.compare(result[0], sum / n);
  error.compare(result[1], squares / n);
  std::printf("mean %.5f, variance %.5f of %d numbers, and their running sums\n",
              static_cast<double>(result[0]), static_cast<double>(result[1]), n);
  return example::report(error, 1e-6, milliseconds, n * (3.0 * sizeof(f32) + sizeof(f64)), "gbs");
}
