#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace imbrex::detail {

/// How many elements or blocks: of any type of integers, so that the size of a container is taken
/// as it is, in braces as well, where C++ refuses what it calls narrowing. One beyond 2^63 - 1
/// becomes negative, which is an error of whoever takes it.
class quantity {
public:
  template <std::integral I>
  constexpr quantity(I number) : value_(static_cast<std::int64_t>(number)) {}
  /// What stands for an integer, such as a std::integral_constant or an enumerator.
  template <class I>
    requires(!std::is_arithmetic_v<I> && std::convertible_to<const I &, std::int64_t>)
  constexpr quantity(const I &number) : value_(number) {}

  constexpr operator std::int64_t() const { return value_; }

private:
  std::int64_t value_;
};

} // namespace imbrex::detail
