// Layer norm, forward and backward: loops, variables, and a sum over all rows that is made in two
// launches. The gradients of gain and bias are sums over every row; each block adds up its own
// share in variables and stores one row of partial sums, and a second kernel adds those.

#include "../support.hpp"

using namespace imbrex;

constexpr int columns = 512;
constexpr int rows_per_step = 4;
constexpr float epsilon = 1e-5F;

// y = (x - mean) / sqrt(variance + epsilon) · gain + bias, row by row
struct forward {
  void operator()(view<const f32, 2> x, view<const f32, 1> gain, view<const f32, 1> bias,
                  view<f32, 2> y, view<f32, 1> mean, view<f32, 1> rstd) const {
    auto i = program_id(0);
    auto here = box<rows_per_step, columns>(i, 0);
    auto all = box<columns>(0);
    auto m = sum<1>(x[here], keep_dims) / columns;
    auto centred = x[here] - m;
    auto r = rsqrt(sum<1>(centred * centred, keep_dims) / columns + epsilon);
    y[here] = centred * r * expand<0>(gain[all]) + expand<0>(bias[all]);
    mean[box<rows_per_step>(i)] = squeeze<1>(m);
    rstd[box<rows_per_step>(i)] = squeeze<1>(r);
  }
};

// dx for the rows of this block, and its share of dgain and dbias. With h = (x - mean) · rstd:
//   dx = rstd · (g - mean(g) - h · mean(g · h))   where g = dy · gain
struct backward {
  void operator()(view<const f32, 2> dy, view<const f32, 2> x, view<const f32, 1> gain,
                  view<const f32, 1> mean, view<const f32, 1> rstd, view<f32, 2> dx,
                  view<f32, 2> dgain, view<f32, 2> dbias) const {
    var gain_sum = zeros<f32, 1, columns>();
    var bias_sum = zeros<f32, 1, columns>();
    // The blocks take turns, so that each has its share whatever the number of rows is.
    auto steps = cdiv(x.extent(0), rows_per_step);
    for (auto i : range(cast<i64>(program_id(0)), steps, cast<i64>(num_programs(0)))) {
      auto here = box<rows_per_step, columns>(i, 0);
      auto m = expand<1>(mean[box<rows_per_step>(i)]), r = expand<1>(rstd[box<rows_per_step>(i)]);
      auto h = (x[here] - m) * r;
      auto g = dy[here] * expand<0>(gain[box<columns>(0)]);
      auto mean_g = sum<1>(g, keep_dims) / columns;
      auto mean_gh = sum<1>(g * h, keep_dims) / columns;
      dx[here] = r * (g - mean_g - h * mean_gh);
      gain_sum += sum<0>(dy[here] * h, keep_dims);
      bias_sum += sum<0>(dy[here], keep_dims);
    }
    dgain[box<1, columns>(program_id(0), 0)] = gain_sum;
    dbias[box<1, columns>(program_id(0), 0)] = bias_sum;
  }
};

// The rows of a small matrix added up.
template <int Rows>
struct add_rows {
  void operator()(view<const f32, 2> parts, view<f32, 1> total) const {
    total[box<64>(program_id(0))] = sum<0>(parts[box<Rows, 64>(0, program_id(0))]);
  }
};

int main() {
  const int rows = example::size(4000, 30);
  constexpr int shares = 16;
  buffer<f32> x(rows, columns), dy(rows, columns), y(rows, columns), dx(rows, columns);
  buffer<f32> gain(columns), bias(columns), dgain(columns), dbias(columns), mean(rows), rstd(rows);
  buffer<f32> gain_parts(shares, columns), bias_parts(shares, columns);
  unsigned seed = 0;
  for (buffer<f32> *input : {&x, &dy, &gain, &bias}) example::randomise(*input, ++seed);

  auto normalise = jit(forward{});
  auto differentiate = jit(backward{});
  auto add = jit(add_rows<shares>{});
  const double milliseconds = example::best_milliseconds([&] {
    normalise(grid(cdiv(rows, rows_per_step)), x, gain, bias, y, mean, rstd);
    differentiate(grid(shares), dy, x, gain, mean, rstd, dx, gain_parts, bias_parts);
    add(grid(cdiv(columns, 64)), gain_parts, dgain);
    add(grid(cdiv(columns, 64)), bias_parts, dbias);
  });

  example::max_error error;
  std::vector<double> gain_sum(columns), bias_sum(columns);
  for (int i = 0; i < rows; ++i) {
    double m = 0, v = 0, mean_g = 0, mean_gh = 0;
    for (int j = 0; j < columns; ++j) m += x(i, j) / static_cast<double>(columns);
    for (int j = 0; j < columns; ++j) v += (x(i, j) - m) * (x(i, j) - m) / columns;
    const double r = 1 / std::sqrt(v + epsilon);
    const auto h = [&](int j) { return (x(i, j) - m) * r; };
    const auto g = [&](int j) { return static_cast<double>(dy(i, j)) * gain[j]; };
    for (int j = 0; j < columns; ++j) mean_g += g(j) / columns, mean_gh += g(j) * h(j) / columns;
    for (int j = 0; j < columns; ++j) {
      error.compare(y(i, j), h(j) * gain[j] + bias[j]);
      error.compare(dx(i, j), r * (g(j) - mean_g - h(j) * mean_gh));
      gain_sum[static_cast<std::size_t>(j)] += dy(i, j) * h(j);
      bias_sum[static_cast<std::size_t>(j)] += dy(i, j);
    }
  }
  for (int j = 0; j < columns; ++j) {
    error.compare(dgain[j], gain_sum[static_cast<std::size_t>(j)]);
    error.compare(dbias[j], bias_sum[static_cast<std::size_t>(j)]);
  }
  std::printf("%d rows of %d, forward and backward\n", rows, columns);
  return example::report(error, 2e-4, milliseconds, 5.0 * rows * columns * sizeof(f32), "gbs");
}
