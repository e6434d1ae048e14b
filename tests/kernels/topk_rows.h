#pragma once

#include "tests/kernels/topk_launches.h"

#include <array>
#include <random>
#include <string_view>

/// Rows of all the kinds that a selection may meet, made from a seed.
namespace imbrex::testing {

/// What is in a row.
inline constexpr auto kRowKinds = std::to_array<std::string_view>(
    {"random", "few values", "all equal", "dead", "some dead", "NaN", "zeros", "ascending",
     "descending", "boundary tie", "one lane", "forced"});

template <class T>
class RowMaker {
public:
  explicit RowMaker(std::uint64_t seed) : random_(seed) {}

  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_);
  }

  std::vector<T> make(std::string_view kind, std::int64_t n, std::int64_t k, bool largest) {
    std::vector<T> row;
    for (std::int64_t i = 0; i < n; ++i) row.push_back(number(kind, i));
    if (kind == "ascending") std::ranges::sort(row, {}, comparable<T>);
    if (kind == "descending") std::ranges::sort(row, std::ranges::greater(), comparable<T>);
    if (kind == "boundary tie") // the k - 1 best first, best last, and then all alike
      for (std::int64_t i = 0; i < n; ++i)
        row[static_cast<std::size_t>(i)] = T(static_cast<int>(
            largest ? (i < k - 1 ? 51 + i % 64 : 50) : (i < k - 1 ? 49 - i % 32 : 50)));
    if (kind == "one lane") // all that is good lies a power of two apart
      for (std::int64_t i = 0; i < n; i += 32) row[static_cast<std::size_t>(i)] = good(largest);
    if (kind == "forced" && n > 0)
      for (int times = 0; times < 3; ++times)
        row[static_cast<std::size_t>(below(n))] = best(largest);
    return row;
  }

private:
  /// A number of any size, but a NaN.
  T any() {
    if constexpr (float_element<T>)
      return T(static_cast<float>(std::normal_distribution<double>()(random_)));
    else
      return static_cast<T>(random_());
  }
  T good(bool largest) { return T(static_cast<int>(largest ? 90 + below(20) : 20 - below(20))); }
  T best(bool largest) { return worst<T>(!largest); }

  T number(std::string_view kind, std::int64_t i) {
    const bool odd = below(2) == 1;
    if (kind == "few values") return T(static_cast<int>(below(4)));
    if (kind == "all equal") return T(7);
    if (kind == "dead") return worst<T>(odd);
    if (kind == "some dead") return below(3) == 0 ? worst<T>(odd) : any();
    if constexpr (float_element<T>) {
      if (kind == "NaN") return odd ? T(i % 2 == 0 ? NAN : -NAN) : any();
      if (kind == "zeros") return T(odd ? -0.0F : 0.0F);
    }
    return any();
  }

  std::mt19937_64 random_;
};

} // namespace imbrex::testing
