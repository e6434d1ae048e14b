#include "tests/codegen/table_row.h"

namespace imbrex::testing {
namespace {

struct reductions {
  void operator()(view<const f32, 2> x, view<const i16, 2> y, view<f32, 1> a, view<i32, 1> b,
                  view<f32, 1> c) const {
    auto v = x[box<7, 100>(program_id(0), 0)];
    auto w = y[box<7, 100>(program_id(0), 0)];
    a[box<7>(program_id(0))] = sum<1>(v) - max<1>(v) * min_nan<1>(v) + prod<1>(v * 0.01 + 1);
    b[box<7>(program_id(0))] = sum<1>(w) + argmax<1>(w) * argmin<1>(v) + reduce_xor<1>(w);
    c[box<100>(program_id(0))] =
        sum<0>(v, deterministic) + where(any<0>(v > 2) || all<0>(w > 3), 1, 0) + max(v);
  }
};

/// The larger pair and the sum of the smaller ones.
struct region_reduction {
  void operator()(view<const i32, 2> x, view<i32, 1> y, view<i32, 1> z) const {
    auto v = x[box<48, 33>(0, 0)];
    auto [value, place] = reduce<0>(std::tuple{v, reshape<48, 33>(arange<0, 48 * 33>())},
                                    [](auto a, auto i, auto b, auto j) {
                                      auto first = a > b || (a == b && i < j);
                                      return std::tuple{where(first, a, b), where(first, i, j)};
                                    });
    y[box<33>(0)] = value;
    z[box<33>(0)] = place;
  }
};

struct scans {
  void operator()(view<const i32, 2> x, view<i32, 2> y, view<i32, 2> z) const {
    auto here = box<100, 3>(program_id(0), 0);
    auto v = x[here];
    y[here] = cumsum<0>(v) + cummax<1>(v, reverse) + cumprod<0>(v, reverse | exclusive);
    auto [a, b] = scan<0>(std::tuple{v, v + 1}, [](auto p, auto q, auto r, auto s) {
      return std::tuple{p * r, q * r + s};
    });
    z[here] = a + b + scan<1>(v, 5, [](auto p, auto q) { return p ^ q; });
  }
};

struct sorts {
  void operator()(view<const f32, 2> x, view<f32, 2> y, view<i32, 2> z, view<i32, 2> k) const {
    auto v = x[box<3, 24>(program_id(0), 0).pad_nan()];
    auto [keys, places] = sort_by_key<0>(v, reshape<3, 24>(arange<0, 72>()), sorted::descending);
    y[box<3, 24>(program_id(0), 0)] = sort(v) + keys;
    z[box<3, 24>(program_id(0), 0)] = argsort(v) + places;
    auto [top, at] = topk<4>(v);
    k[box<3, 4>(program_id(0), 0)] = at + cast<i32>(top);
  }
};

struct counted {
  void operator()(view<const u8, 1> x, view<i32, 1> y, view<u8, 1> z) const {
    auto v = x[box<300>(0)];
    y[box<48>(0)] = histogram<48>(v) + histogram<48>(v, v > 7);
    z[box<300>(0)] = gather<0>(v, cast<i32>(v) * 3);
  }
};

/// A byte from scratch memory that is wanted in every lane of a vector: LLVM's combiner of vectors
/// would load the three bytes behind it too, which nothing may have written.
struct gathered_value {
  void operator()(view<f32, 2> y) const {
    auto [row] = program_id<1>();
    auto v = broadcast<2, 100>(cast<f4e2m1>(row + 2));
    auto columns = cast<i8>(row + reshape<2, 3>(arange<0, 6>()));
    y[box<2, 3>(row, 0)] = cast<f32>(gather<1>(v, columns));
  }
};

template <class A, class B, class C>
struct product {
  dot_options options = {};
  void operator()(view<const A, 2> a, view<const B, 2> b, view<C, 2> c) const {
    auto [m, n] = program_id<2>();
    var sums = zeros<C, 16, 32>();
    for (auto k : range(0, cdiv(a.extent(1), 16)).pipelined(2))
      sums += dot(a[box<16, 16>(m, k)], b[box<16, 32>(k, n)], options);
    c[box<16, 32>(m, n)] = sums;
  }
};

struct batched_product {
  void operator()(view<const f16, 3> a, view<f32, 3> c) const {
    auto x = a[box<2, 7, 20>(program_id(0), 0, 0)];
    c[box<2, 7, 7>(program_id(0), 0, 0)] = dot(x, permute<0, 2, 1>(x));
  }
};

/// Operands that pass through shared memory in three rounds, the last of them cut short; neighbours
/// in a row are of one operand the depth, of the other not.
struct deep_product {
  void operator()(view<const f64, 2> a, view<const f64, 2> b, view<f64, 2> wide,
                  view<f64, 2> high) const {
    auto x = a[box<4, 150>(0, 0)];
    auto y = b[box<150, 64>(0, 0)];
    wide[box<4, 64>(0, 0)] = dot(x, y);
    high[box<64, 4>(0, 0)] = dot(permute<1, 0>(y), permute<1, 0>(x));
  }
};

template <class A, class B>
struct scaled_product {
  void operator()(view<const A, 2> a, view<const e8m0, 2> s, view<const B, 2> b,
                  view<f32, 2> c) const {
    auto x = a[box<4, 64>(0, 0)];
    auto y = b[box<64, 4>(0, 0)];
    auto first = dot_scaled(x, s[box<4, 2>(0, 0)], y, no_scale);
    c[box<4, 4>(0, 0)] = dot_scaled(x, no_scale, y, s[box<4, 2>(0, 0)], first);
  }
};

struct random_numbers {
  void operator()(scalar<u64> seed, view<u32, 1> x, view<f32, 1> y) const {
    auto here = box<128>(program_id(0));
    auto i = program_id(0) * 128 + arange<0, 128>();
    auto [a, b, c, d] = randint4x(seed, cast<i64>(i));
    x[here] = (a ^ b) + (c | d);
    y[here] = rand(seed, i) + randn(seed, i);
  }
};

template <class A, class B, class C>
TableKernel productRow(const std::string &name, const product<A, B, C> &kernel) {
  return row(name, kernel, {2, 2, 1}, {"random:20x40", "random:40x50", "zeros:20x50"});
}

void addProducts(std::vector<TableKernel> &table) {
  table.push_back(productRow("product_f32", product<f32, f32, f32>{}));
  table.push_back(productRow("product_tf32x3", product<f32, f32, f32>{precision::tf32x3}));
  table.push_back(productRow("product_bf16x3", product<f32, f32, f32>{precision::bf16x3}));
  table.push_back(productRow("product_f64", product<f64, f64, f64>{}));
  table.push_back(productRow("product_f16", product<f16, f16, f32>{}));
  table.push_back(productRow("product_bf16", product<bf16, bf16, f32>{}));
  table.push_back(productRow("product_i8", product<i8, i8, i32>{}));
  table.push_back(productRow("product_f8", product<f8e4m3fn, f8e5m2, f32>{promote_every(32)}));
  table.push_back(
      row("batched_product", batched_product{}, {2, 1, 1}, {"random:4x7x20", "zeros:4x7x7"}));
  table.push_back(row("deep_product", deep_product{}, {1, 1, 1},
                      {"random:4x150", "random:150x64", "zeros:4x64", "zeros:64x4"}));
  const std::vector<std::string> scaled{"random:4x64", "ones:4x2", "random:64x4", "zeros:4x4"};
  table.push_back(row("scaled_f4_f8", scaled_product<f4e2m1, f8e4m3fn>{}, {1, 1, 1}, scaled));
  table.push_back(row("scaled_f16_f4", scaled_product<f16, f4e2m1>{}, {1, 1, 1}, scaled));
}

} // namespace

void addAxisKernels(std::vector<TableKernel> &table) {
  table.push_back(row("reductions", reductions{}, {2, 1, 1},
                      {"random:14x100", "random:14x100", "zeros:14", "zeros:14", "zeros:200"}));
  table.push_back(row("region_reduction", region_reduction{}, {1, 1, 1},
                      {"random:48x33", "zeros:33", "zeros:33"}));
  table.push_back(row("scans", scans{}, {2, 1, 1}, {"random:150x3", "zeros:150x3", "zeros:150x3"}));
  table.push_back(
      row("sorts", sorts{}, {2, 1, 1}, {"random:5x24", "zeros:5x24", "zeros:5x24", "zeros:5x4"}));
  table.push_back(row("counted", counted{}, {1, 1, 1}, {"random:300", "zeros:48", "zeros:300"}));
  table.push_back(row("gathered_value", gathered_value{}, {6, 1, 1}, {"zeros:12x3"}));
  table.push_back(
      row("random_numbers", random_numbers{}, {2, 1, 1}, {"2026", "zeros:200", "zeros:200"}));
  addProducts(table);
}

} // namespace imbrex::testing
