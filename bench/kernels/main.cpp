// The library of kernels on the host device against the standard library, one thread on one
// processor: `bench_kernels [rounds]`. Prints a line of JSON per figure. Every result is checked
// against the peer's before it is timed.

#include "bench/host/measure.h"
#include <imbrex/kernels/block_select_topk.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using imbrex::buffer;
using imbrex::f32;
using imbrex::i32;

struct Shape {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t k;
};

/// For each row, sort the indices of its scores as far as `select` does, and keep the first k.
template <class Select>
void selectRows(const Shape &shape, const float *scores, std::vector<i32> &result,
                const Select &select) {
  std::vector<i32> indices(static_cast<std::size_t>(shape.columns));
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const float *of = scores + row * shape.columns;
    std::iota(indices.begin(), indices.end(), 0);
    select(indices, [of](i32 a, i32 b) { return of[a] > of[b] || (of[a] == of[b] && a < b); });
    std::copy_n(indices.begin(), shape.k, result.begin() + row * shape.k);
  }
}

void benchTopk(const Shape &shape, int rounds) {
  buffer<f32> scores(shape.rows, shape.columns);
  buffer<i32> indices(shape.rows, shape.k);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (f32 &score : scores) score = normal(random);
  const float *data = std::as_const(scores).data();
  std::vector<i32> theirs(indices.size());

  const auto ours = [&] {
    imbrex::kernels::block_select_topk(imbrex::device::host(), scores, shape.k, indices);
  };
  const auto partialSort = [&] {
    selectRows(shape, data, theirs, [&](auto &order, const auto &isBefore) {
      std::partial_sort(order.begin(), order.begin() + shape.k, order.end(), isBefore);
    });
  };
  const auto nthElement = [&] {
    selectRows(shape, data, theirs, [&](auto &order, const auto &isBefore) {
      std::nth_element(order.begin(), order.begin() + shape.k, order.end(), isBefore);
      std::sort(order.begin(), order.begin() + shape.k, isBefore);
    });
  };

  const std::string name = "topk f32 " + std::to_string(shape.rows) + "x" +
                           std::to_string(shape.columns) + ", " + std::to_string(shape.k);
  const double bytes = static_cast<double>(shape.rows * shape.columns) * sizeof(f32);
  const auto against = [&](const std::string &peer, const std::function<void()> &run) {
    indices.fill(-2);
    ours();
    run();
    if (!std::ranges::equal(indices.span(), theirs)) {
      std::fprintf(stderr, "%s: another result than that of %s\n", name.c_str(), peer.c_str());
      std::exit(1);
    }
    constexpr double kFloor = 3;
    bench::report(name, peer, "gbs", bytes, bench::compare(ours, run, rounds), kFloor);
  };
  against("partial_sort", partialSort);
  against("nth_element, sort", nthElement);
}

} // namespace

int main(int argc, char **argv) {
  if (!std::getenv("IMBREX_NUM_THREADS")) { // is read when the pool is made
    setenv("IMBREX_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
  }
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  bench::pinToProcessor(1);
  benchTopk({4096, 4096, 8}, rounds);
  benchTopk({64, 1 << 17, 64}, rounds);
  benchTopk({1, 1 << 20, 2048}, rounds);
  return 0;
}
