#pragma once

// The numbers of products and of attention: operands, and how far a result is off.

#include <imbrex/element_types.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

namespace bench {

/// A matrix of the host.
struct ProductArray {
  std::int64_t rows, columns, elementBytes;
  std::vector<std::byte> content;
  std::int64_t bytes() const { return rows * columns * elementBytes; }
};

namespace detail {

template <class T>
struct typed_array {
  const ProductArray &array;
  double operator()(std::int64_t row, std::int64_t column) const {
    T element;
    std::memcpy(&element,
                &array.content[static_cast<std::size_t>(row * array.columns + column) * sizeof(T)],
                sizeof(T));
    return static_cast<double>(element);
  }
};

template <class T>
void fill_normal(ProductArray &array, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  array.content.resize(static_cast<std::size_t>(array.bytes()));
  for (std::size_t at = 0; at < array.content.size(); at += sizeof(T)) {
    const float number = normal(generator);
    T element{};
    if constexpr (std::is_integral_v<T>)
      element = static_cast<T>(std::lround(std::fmin(std::fmax(32 * number, -127), 127)));
    else
      element = static_cast<T>(number);
    std::memcpy(&array.content[at], &element, sizeof(T));
  }
}

/// NaN in every float.
inline void poison(ProductArray &array) {
  array.content.assign(static_cast<std::size_t>(array.bytes()), std::byte{0xff});
}

/// Of a number that is NaN: infinite.
inline double worse(double largest, double got, double wanted, double usual) {
  const double error = std::fabs(got - wanted) / (std::fabs(wanted) + usual);
  return std::isnan(error) ? INFINITY : std::fmax(largest, error);
}

/// As many rows as take a moment.
inline std::int64_t every(std::int64_t rows) { return rows <= 512 ? 7 : rows / 16 + 1; }

template <class T, class Out>
double gemm_error(const std::vector<ProductArray> &arrays, bool is_transposed) {
  const typed_array<T> a{arrays[0]}, b{arrays[1]};
  const typed_array<Out> c{arrays[2]};
  const std::int64_t depth = arrays[0].columns;
  const double usual = std::sqrt(static_cast<double>(depth));
  double largest = 0;
  for (std::int64_t i = 0; i < arrays[2].rows; i += every(arrays[2].rows)) {
    std::vector<double> row(static_cast<std::size_t>(arrays[2].columns));
    for (std::int64_t k = 0; k < depth; ++k)
      for (std::int64_t j = 0; j < arrays[2].columns; ++j)
        row[static_cast<std::size_t>(j)] += a(i, k) * (is_transposed ? b(j, k) : b(k, j));
    for (std::int64_t j = 0; j < arrays[2].columns; ++j)
      largest = worse(largest, c(i, j), row[static_cast<std::size_t>(j)], usual);
  }
  return largest;
}

template <class T>
double attention_error(const std::vector<ProductArray> &arrays, std::int64_t length, double scale,
                       bool is_causal) {
  const typed_array<T> q{arrays[0]}, k{arrays[1]}, v{arrays[2]}, o{arrays[3]};
  const std::int64_t depth = arrays[0].columns;
  double largest = 0;
  for (std::int64_t i = 0; i < arrays[0].rows; i += every(arrays[0].rows)) {
    const std::int64_t first = i / length * length;
    const std::int64_t last = is_causal ? i + 1 : first + length;
    const double usual = 1 / std::sqrt(static_cast<double>(last - first));
    std::vector<double> row(static_cast<std::size_t>(depth));
    double total = 0;
    for (std::int64_t j = first; j < last; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < depth; ++d) score += q(i, d) * k(j, d);
      const double weight = std::exp(score * scale);
      total += weight;
      for (std::int64_t d = 0; d < depth; ++d) row[static_cast<std::size_t>(d)] += weight * v(j, d);
    }
    for (std::int64_t d = 0; d < depth; ++d)
      largest = worse(largest, o(i, d), row[static_cast<std::size_t>(d)] / total, usual);
  }
  return largest;
}

} // namespace detail

} // namespace bench
