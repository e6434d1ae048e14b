// Grouped products: tables of pointers, views that a kernel makes of them, and blocks that have
// nothing to do.
//
//   c[g] = a[g] · b[g] for every group g, each of its own extents, in one launch
//
// So are the experts of a mixture run: each has its own weights, and as many rows as were sent to
// it.

#include "../support.hpp"

#include <algorithm>
#include <vector>

using namespace imbrex;

// One block computes one BM × BN tile of the product of one group, if that has such a tile.
template <int BM, int BN, int BK>
struct grouped_product {
  void operator()(table<const f32> a, table<const f32> b, table<f32> c, ptr<const i32> rows,
                  ptr<const i32> inner, ptr<const i32> columns) const {
    auto [m, n, g] = program_id<3>();
    auto M = load(rows + g), K = load(inner + g), N = load(columns + g);
    // The grid has as many blocks for each group as the largest needs.
    exit_if(m * BM >= M || n * BN >= N);
    // Row-major; {K, 1} as a third argument would be their strides.
    view A(a[g], {M, K});
    view B(b[g], {K, N});
    view C(c[g], {M, N});
    var acc = zeros<f32, BM, BN>();
    for (auto k : range(0, cdiv(K, BK)).pipelined(2))
      acc += dot(A[box<BM, BK>(m, k)], B[box<BK, BN>(k, n)]);
    C[box<BM, BN>(m, n)] = acc;
  }
};

int main() {
  // The rows that each of five groups has; one has none.
  std::vector<i32> rows = {300, 17, 0, 512, 96};
  std::vector<i32> inner = {256, 300, 128, 64, 511}, columns = {384, 128, 200, 65, 256};
  for (auto *extents : {&rows, &inner, &columns})
    for (i32 &extent : *extents) extent = example::size(extent, extent / 8);

  std::vector<buffer<f32>> a, b, c;
  double operations = 0;
  for (std::size_t g = 0; g < rows.size(); ++g) {
    example::randomise(a.emplace_back(rows[g], inner[g]), 2 * static_cast<unsigned>(g));
    example::randomise(b.emplace_back(inner[g], columns[g]), 2 * static_cast<unsigned>(g) + 1);
    c.emplace_back(rows[g], columns[g]);
    operations += 2.0 * rows[g] * inner[g] * columns[g];
  }

  constexpr int BM = 32, BN = 64;
  const int most_rows = *std::ranges::max_element(rows);
  const int most_columns = *std::ranges::max_element(columns);
  const auto groups = static_cast<int>(rows.size());
  auto kernel = jit(grouped_product<BM, BN, 32>{});
  // A table takes a range of arrays; of single ones table_of(x, y, z) makes one.
  const double milliseconds = example::best_milliseconds([&] {
    kernel(grid(cdiv(most_rows, BM), cdiv(most_columns, BN), groups), a, b, c, rows, inner,
           columns);
  });

  example::max_error error;
  for (std::size_t g = 0; g < rows.size(); ++g)
    for (i32 i = 0; i < rows[g]; i += example::size(7, 1))
      for (i32 j = 0; j < columns[g]; ++j) {
        double sum = 0;
        for (i32 k = 0; k < inner[g]; ++k) sum += static_cast<double>(a[g](i, k)) * b[g](k, j);
        error.compare(c[g](i, j), sum);
      }
  std::printf("%d groups\n", groups);
  return example::report(error, 1e-3, milliseconds, operations, "gflops");
}
