#include "tests/codegen/table_row.h"

namespace imbrex::testing {
namespace {

struct elementwise {
  void operator()(view<const f32, 1> x, view<const f32, 1> y, view<f32, 1> z) const {
    auto here = box<128>(program_id(0));
    auto a = x[here], b = y[here];
    auto turned = where(a != b, sin(a) + cos(b) * tan(a), sqrt(abs(a)) - rsqrt(abs(b) + 1));
    auto grown = exp(-b * b) + log1p(abs(a)) * expm1(b) + log2(abs(b) + 1) + exp2(a);
    auto whole = floor(a) + ceil(b) - round(a) + rint(b) * trunc(a);
    z[here] = fma(turned, grown, whole) + fmod(a, b) + tanh(a) * erf(b) / (1 + a * a);
  }
};

struct fast_functions {
  void operator()(view<const f32, 1> x, view<f32, 1> y) const {
    auto here = box<100>(program_id(0));
    auto a = abs(x[here]) + 1;
    auto powers = fast::exp(-a) + fast::exp2(a) + fast::log(a) * fast::log2(a) + fast::rsqrt(a);
    y[here] = powers + fast::sin(a) * fast::cos(a) + fast::tanh(a) + fast::div(a, fast::rcp(a));
  }
};

template <class T>
struct integers {
  void operator()(view<const T, 1> x, view<const T, 1> y, view<T, 1> z) const {
    auto here = box<128>(program_id(0));
    auto a = x[here], b = y[here];
    auto divided = a / b - a % b + cdiv(a, b);
    auto bits = ((a << 3) ^ (b >> lit<2>)) | (~a & b);
    z[here] = cast<T>(max(a * b + divided, bits) + min(a, b) - umulhi(a, b));
  }
};

/// Arithmetic that rounds after each op.
template <class T>
struct floats {
  void operator()(view<const T, 1> x, view<const T, 1> y, view<T, 1> z) const {
    auto here = box<128>(program_id(0));
    auto a = x[here], b = y[here];
    auto chosen = where(min_nan(a, b) <= max_nan(a, -b), a * b - a, a + sqrt(abs(b)));
    z[here] = cast<T>(chosen * a + cast<T>(a / (abs(b) + 1)), rounding::nearest);
  }
};

/// Numbers that can be stored and converted, and no more.
template <class T>
struct narrow {
  void operator()(view<const f32, 2> x, view<T, 2> y, view<f32, 2> z) const {
    auto here = box<3, 48>(program_id(0), 0);
    tile<T, 3, 48> stored = cast<T>(x[here] * 8);
    y[here] = stored;
    z[here] = cast<f32>(stored) + cast<f32>(cast<T>(x[here], rounding::toward_zero));
  }
};

struct conversions {
  void operator()(view<const f64, 1> x, view<i8, 1> a, view<u32, 1> b, view<i64, 1> c,
                  view<bool, 1> d, view<f16, 1> e) const {
    auto here = box<100>(program_id(0));
    auto v = x[here] * 100;
    a[here] = cast<i8>(v);
    b[here] = cast<u32>(cast<i8>(v)) ^ bitcast<u32>(cast<f32>(v));
    c[here] = bitcast<i64>(v) + cast<i64>(v);
    d[here] = cast<bool>(cast<i32>(v));
    e[here] = cast<f16>(v, rounding::toward_zero) + cast<f16>(cast<u64>(v));
  }
};

/// Products that are −0 where x is negative, rounded to 16 bits.
struct rounded_products {
  void operator()(view<const f32, 1> x, view<f16, 1> y, view<bf16, 1> z) const {
    auto here = box<64>(program_id(0));
    auto v = x[here];
    auto product = v * where(v > 0.0f, v, 0.0f);
    y[here] = cast<f16>(product);
    z[here] = cast<bf16>(v * where(v > 1.0f, v, 0.0f));
  }
};

template <class T, int R, int C>
struct transposed {
  void operator()(view<const T, 2> x, view<T, 2> y) const {
    auto [i, j] = program_id<2>();
    y[box<C, R>(j, i)] = transpose(x[box<R, C>(i, j)]);
  }
};

struct shapes {
  void operator()(view<const f32, 2> x, view<const i16, 3> y, view<f32, 2> a,
                  view<i16, 3> b) const {
    auto t = x[box<12, 16>(0, 0)];
    auto [even, odd] = split(reshape<12, 8, 2>(t));
    auto both = concatenate<1>(flip<0>(even), slice<1, 1, 4, 2>(odd));
    auto joined = reshape<12, 24>(join(both, both * 2));
    a[box<12, 24>(0, 0)] = joined + broadcast<12, 24>(slice<1, 3, 1>(joined));
    auto cube = y[box<3, 5, 7>(0, 0, 0)];
    b[box<7, 3, 5>(0, 0, 0)] = permute<2, 0, 1>(flip<1>(cube)) +
                               expand<0>(squeeze<0>(reshape<1, 3, 5>(slice<2, 6, 1>(cube))));
  }
};

} // namespace

void addValueKernels(std::vector<TableKernel> &table) {
  table.push_back(
      row("elementwise", elementwise{}, {2, 1, 1}, {"random:200", "random:90", "zeros:90"}));
  table.push_back(row("fast_functions", fast_functions{}, {1, 1, 1}, {"random:90", "zeros:90"}));
  const std::vector<std::string> three{"random:200", "random:200", "zeros:200"};
  table.push_back(row("integers_i8", integers<i8>{}, {2, 1, 1}, three));
  table.push_back(row("integers_u16", integers<u16>{}, {2, 1, 1}, three));
  table.push_back(row("integers_i64", integers<i64>{}, {2, 1, 1}, three));
  table.push_back(row("floats_f16", floats<f16>{}, {2, 1, 1}, three));
  table.push_back(row("floats_bf16", floats<bf16>{}, {2, 1, 1}, three));
  table.push_back(row("floats_f64", floats<f64>{}, {2, 1, 1}, three));
  const std::vector<std::string> matrices{"random:5x48", "zeros:5x48", "zeros:5x48"};
  table.push_back(row("narrow_f8e4m3fn", narrow<f8e4m3fn>{}, {2, 1, 1}, matrices));
  table.push_back(row("narrow_f8e5m2", narrow<f8e5m2>{}, {2, 1, 1}, matrices));
  table.push_back(row("narrow_f8e4m3fnuz", narrow<f8e4m3fnuz>{}, {2, 1, 1}, matrices));
  table.push_back(row("narrow_f8e5m2fnuz", narrow<f8e5m2fnuz>{}, {2, 1, 1}, matrices));
  table.push_back(row("narrow_f4e2m1", narrow<f4e2m1>{}, {2, 1, 1}, matrices));
  table.push_back(row("narrow_e8m0", narrow<e8m0>{}, {2, 1, 1}, matrices));
  table.push_back(row("conversions", conversions{}, {1, 1, 1},
                      {"random:90", "zeros:90", "zeros:90", "zeros:90", "zeros:90", "zeros:90"}));
  table.push_back(row("rounded_products", rounded_products{}, {2, 1, 1},
                      {"random:120", "zeros:120", "zeros:120"}));
  table.push_back(row("transposed_f32", transposed<f32, 64, 64>{}, {1, 2, 1},
                      {"random:64x128", "zeros:128x64"}));
  table.push_back(row("transposed_u8", transposed<u8, 48, 100>{}, {2, 1, 1},
                      {"random:70x100", "zeros:100x70"}));
  table.push_back(row("shapes", shapes{}, {1, 1, 1},
                      {"random:12x16", "random:3x5x7", "zeros:12x24", "zeros:7x3x5"}));
}

} // namespace imbrex::testing
