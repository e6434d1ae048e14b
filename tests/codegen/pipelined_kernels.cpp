#include "tests/codegen/pipelined_kernels.h"

#include "tests/codegen/table_row.h"

#include <algorithm>

namespace imbrex::testing {
namespace {

template <class Range>
Range ahead(const Range &range, int slots) {
  return slots == 0 ? range.pipelined() : range.pipelined(slots);
}

/// A product of matrices, a box of each operand a trip.
struct pipelined_product {
  int slots = 2;
  void operator()(view<const f16, 2> a, view<const f16, 2> b, view<f32, 2> c) const {
    auto [m, n] = program_id<2>();
    var sums = zeros<f32, 16, 32>();
    for (auto k : ahead(range(0, cdiv(a.extent(1), 16)), slots))
      sums += dot(a[box<16, 16>(m, k)], b[box<16, 32>(k, n)]);
    c[box<16, 32>(m, n)] = sums;
  }
};

/// A loop in a loop, as attention has it: two products a trip, of which the second wants another
/// box, and the inner loop begins anew for each tile of queries. All tiles have so many rows.
template <class T, int N>
struct pipelined_attention {
  int slots = 2;
  void operator()(view<const T, 2> q, view<const T, 2> k, view<const T, 2> v,
                  view<f32, 2> o) const {
    for (auto m : range(0, cdiv(q.extent(0), N))) {
      auto queries = q[box<N, N>(m, 0)];
      var sums = zeros<f32, N, N>();
      var most = full<f32, N>(-1.0F);
      for (auto n : ahead(range(0, cdiv(k.extent(0), N)), slots)) {
        auto scores = dot(queries, permute<1, 0>(k[box<N, N>(n, 0)]));
        most = max(most, max<1>(scores));
        sums += dot(cast<T>(scores), v[box<N, N>(n, 0)]);
      }
      o[box<N, N>(m, 0)] = sums + expand<1>(most);
    }
  }
};

/// The trips of attention in two loops, one behind the other, of which the second weighs its scores
/// otherwise.
struct pipelined_parts {
  int slots = 2;
  void operator()(view<const f16, 2> q, view<const f16, 2> k, view<const f16, 2> v,
                  scalar<i32> first, scalar<i32> all, view<f32, 2> o) const {
    for (auto m : range(0, cdiv(q.extent(0), 16))) {
      auto queries = q[box<16, 16>(m, 0)];
      var sums = zeros<f32, 16, 16>();
      const auto trips = [&](const auto &from, const auto &to, float weight) {
        for (auto n : ahead(range(from, to), slots)) {
          auto scores = dot(queries, permute<1, 0>(k[box<16, 16>(n, 0)])) * weight;
          sums += dot(cast<f16>(scores), v[box<16, 16>(n, 0)]);
        }
      };
      trips(0, first, 2.0F);
      trips(first, all, 1.0F);
      o[box<16, 16>(m, 0)] = sums;
    }
  }
};

/// Pointers that move on with the trips, and a mask.
struct pipelined_stream {
  int slots = 2;
  void operator()(ptr<const f32> x, scalar<i32> n, ptr<f32> out) const {
    auto i = arange<0, 256>();
    var at = x + i;
    var sums = zeros<f32, 256>();
    for (auto first : ahead(range(0, n, 256), slots)) {
      sums += load(at, first + i < n);
      at = at + 256;
    }
    store(out + i, sums);
  }
};

/// Rows that are longer than an engine swizzles, in a kernel that may end early.
struct pipelined_rows {
  int slots = 2;
  void operator()(view<const f32, 2> x, scalar<i32> n, view<f32, 2> sums) const {
    auto [m] = program_id<1>();
    exit_if(n < 0);
    var all = zeros<f32, 8, 64>();
    for (auto k : ahead(range(0, cdiv(x.extent(1), 64)), slots)) all += x[box<8, 64>(m, k)];
    sums[box<8, 64>(m, 0)] = all;
  }
};

/// A step of the launch, which may go down as well.
struct pipelined_steps {
  int slots = 2;
  void operator()(view<const f32, 2> x, scalar<i32> first, scalar<i32> last, scalar<i32> step,
                  view<f32, 2> sums) const {
    auto [m] = program_id<1>();
    var all = zeros<f32, 8, 32>();
    for (auto k : ahead(range(first + m, last, step), slots)) all += x[box<8, 32>(m, k)] * 2.0F;
    sums[box<8, 32>(m, 0)] = all;
  }
};

std::string random(std::int64_t rows, std::int64_t columns) {
  return "random:" + std::to_string(rows) + "x" + std::to_string(columns);
}

/// The same whose slots are more than a block has without asking at the launch.
struct pipelined_large_product {
  int slots = 2;
  void operator()(view<const f32, 2> a, view<const f32, 2> b, view<f32, 2> c) const {
    auto [m, n] = program_id<2>();
    var sums = zeros<f32, 64, 32>();
    for (auto k : ahead(range(0, cdiv(a.extent(1), 64)), slots))
      sums += dot(a[box<64, 64>(m, k)], b[box<64, 32>(k, n)]);
    c[box<64, 32>(m, n)] = sums;
  }
};

template <std::int64_t M, std::int64_t N, std::int64_t K, bool IS_TRANSPOSED>
struct pipelined_odd_product {
  void operator()(view<const f16, 2> a, view<const f16, 2> b, view<f32, 2> c) const {
    auto [m, n] = program_id<2>();
    var sums = zeros<f32, M, N>();
    for (auto k : range(0, cdiv(a.extent(1), K)).pipelined(3)) {
      if constexpr (IS_TRANSPOSED)
        sums += dot(a[box<M, K>(m, k)], permute<1, 0>(b[box<N, K>(n, k)]));
      else
        sums += dot(a[box<M, K>(m, k)], b[box<K, N>(k, n)]);
    }
    c[box<M, N>(m, n)] = sums;
  }
};

/// Boxes of a view, and through pointers, a weight for each of their columns.
struct pipelined_weights {
  int slots = 2;
  void operator()(view<const f32, 2> x, ptr<const f32> weights, scalar<i32> n,
                  view<f32, 2> sums) const {
    auto [m] = program_id<1>();
    auto column = arange<0, 256>();
    var all = zeros<f32, 8, 256>();
    for (auto k : ahead(range(0, n), slots))
      all +=
          x[box<8, 256>(m, k)] * broadcast<8, 256>(expand<0>(load(weights + (k * 256 + column))));
    sums[box<8, 256>(m, 0)] = all;
  }
};

/// What is read once, and said to be so.
struct pipelined_hints {
  void operator()(view<const f16, 2> a, view<const f16, 2> b, view<f32, 2> c) const {
    auto [m, n] = program_id<2>();
    var sums = zeros<f32, 32, 32>();
    for (auto k : range(0, cdiv(a.extent(1), 32)).pipelined(3))
      sums += dot(a[box<32, 32>(m, k).hint(cache::streaming)],
                  permute<1, 0>(b[box<32, 32>(n, k).hint(eviction::first)]));
    c[box<32, 32>(m, n)] = sums;
  }
};

void addProducts(std::vector<TableKernel> &kernels, int slots) {
  const int deep = slotsAtMost(slots);
  for (const int k : {0, 16, 16 * (deep - 1), 16 * deep, 16 * (deep + 1), 16 * deep + 40}) {
    const std::string name = "product_" + std::to_string(slots) + "_" + std::to_string(k);
    kernels.push_back(row(name, pipelined_product{slots}, {2, 2, 1},
                          {random(24, k), random(k, 56), "zeros:24x56"}));
  }
}

void addAttention(std::vector<TableKernel> &kernels, int slots) {
  const int deep = slotsAtMost(slots);
  for (const int n : {0, 16, 16 * (deep - 1), 16 * deep, 16 * (deep + 1), 16 * deep + 8})
    for (const int m : {16, 40}) {
      const std::string name =
          "attention_" + std::to_string(slots) + "_" + std::to_string(n) + "_" + std::to_string(m);
      kernels.push_back(
          row(name, pipelined_attention<f16, 16>{slots}, {1, 1, 1},
              {random(m, 16), random(n, 16), random(n, 16), "zeros:" + std::to_string(m) + "x16"}));
    }
}

void addStreams(std::vector<TableKernel> &kernels, int slots) {
  const int deep = slotsAtMost(slots);
  for (const int n : {0, 256, 256 * (deep - 1), 256 * deep, 256 * (deep + 1), 256 * deep + 100}) {
    const std::string name = "stream_" + std::to_string(slots) + "_" + std::to_string(n);
    kernels.push_back(
        row(name, pipelined_stream{slots}, {1, 1, 1},
            {"random:" + std::to_string(std::max(n, 1)), std::to_string(n), "zeros:256"}));
  }
}

void addRows(std::vector<TableKernel> &kernels, int slots) {
  const int deep = slotsAtMost(slots);
  for (const int n : {0, 64, 64 * deep, 64 * (deep + 1) + 20}) {
    const std::string name = "rows_" + std::to_string(slots) + "_" + std::to_string(n);
    kernels.push_back(
        row(name, pipelined_rows{slots}, {2, 1, 1}, {random(13, n), "1", "zeros:13x64"}));
  }
}

void addSteps(std::vector<TableKernel> &kernels, int slots) {
  const int deep = slotsAtMost(slots);
  struct Steps {
    int first, last, step;
  };
  for (const Steps &of :
       {Steps{0, 0, 1}, {0, 3 * deep + 4, 3}, {2 * deep + 1, -1, -2}, {5, 9, 0}}) {
    const std::string name =
        "steps_" + std::to_string(slots) + "_" + std::to_string(kernels.size());
    kernels.push_back(row(name, pipelined_steps{slots}, {2, 1, 1},
                          {random(13, 32 * (3 * deep + 4)), std::to_string(of.first),
                           std::to_string(of.last), std::to_string(of.step), "zeros:13x32"}));
  }
}

} // namespace

std::vector<TableKernel> largeProducts() {
  std::vector<TableKernel> kernels;
  for (const int slots : {2, 3})
    kernels.push_back(row("large_product_" + std::to_string(slots), pipelined_large_product{slots},
                          {1, 2, 1}, {random(50, 248), random(248, 40), "zeros:50x40"}));
  return kernels;
}

std::vector<TableKernel> longTrips(int slots) {
  std::vector<TableKernel> kernels;
  for (const int rows : {0, 20, 32 * (slots + 1), 32 * (slots + 1) + 8})
    kernels.push_back(row("long_" + std::to_string(slots) + "_" + std::to_string(rows),
                          pipelined_attention<f32, 32>{slots}, {1, 1, 1},
                          {random(40, 32), random(rows, 32), random(rows, 32), "zeros:40x32"}));
  return kernels;
}

std::vector<TableKernel> oddProducts() {
  std::vector<TableKernel> kernels;
  kernels.push_back(row("odd_product_48", pipelined_odd_product<24, 100, 48, false>{}, {2, 2, 1},
                        {random(40, 200), random(200, 160), "zeros:40x160"}));
  kernels.push_back(row("odd_product_40_transposed", pipelined_odd_product<48, 20, 40, true>{},
                        {1, 2, 1}, {random(48, 208), random(40, 208), "zeros:48x40"}));
  kernels.push_back(row("odd_product_80_transposed", pipelined_odd_product<16, 96, 80, true>{},
                        {2, 1, 1}, {random(30, 400), random(90, 400), "zeros:30x90"}));
  return kernels;
}

std::vector<TableKernel> loopsInRow(int slots) {
  std::vector<TableKernel> kernels;
  for (const int first : {0, 1, slots - 1, slots, slots + 1})
    for (const int rest : {0, 1, slots + 1}) {
      const std::string rows = std::to_string(std::max(16 * (first + rest) - 8, 0));
      kernels.push_back(row("parts_" + std::to_string(slots) + "_" + std::to_string(first) + "_" +
                                std::to_string(rest),
                            pipelined_parts{slots}, {1, 1, 1},
                            {random(40, 16), "random:" + rows + "x16", "random:" + rows + "x16",
                             std::to_string(first), std::to_string(first + rest), "zeros:40x16"}));
    }
  return kernels;
}

std::vector<TableKernel> mixedLoads() {
  std::vector<TableKernel> kernels;
  for (const int slots : {2, 3})
    for (const int n : {0, 1, slots + 1})
      kernels.push_back(
          row("weights_" + std::to_string(slots) + "_" + std::to_string(n),
              pipelined_weights{slots}, {2, 1, 1},
              {random(13, 256 * std::max(n, 1)), "random:" + std::to_string(256 * std::max(n, 1)),
               std::to_string(n), "zeros:13x256"}));
  return kernels;
}

std::vector<TableKernel> hintedLoads() {
  std::vector<TableKernel> kernels;
  kernels.push_back(row("hinted_product", pipelined_hints{}, {2, 2, 1},
                        {random(40, 200), random(48, 200), "zeros:40x48"}));
  return kernels;
}

std::vector<TableKernel> pipelinedKernels(int slots) {
  std::vector<TableKernel> kernels;
  addProducts(kernels, slots);
  addAttention(kernels, slots);
  addStreams(kernels, slots);
  addRows(kernels, slots);
  addSteps(kernels, slots);
  return kernels;
}

} // namespace imbrex::testing
