#pragma once

#include <imbrex/aot.h>
#include <imbrex/element_types.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

/// What the functions of a library take for views and pointers.
namespace imbrex::aot {

namespace detail {

/// Elements of which two share a byte are given by the byte.
template <class T>
using unit_of =
    std::conditional_t<std::same_as<std::remove_const_t<T>, f4e2m1>,
                       std::conditional_t<std::is_const_v<T>, const std::uint8_t, std::uint8_t>, T>;

/// What can be had of a range without copying it: elements one behind the other, of which those
/// that are not const may be read as if they were.
template <class R, class T>
concept contiguous_of = requires(R &range) {
  { range.data() } -> std::convertible_to<unit_of<T> *>;
  { range.size() } -> std::convertible_to<std::int64_t>;
};

/// How many elements of T so many units have.
template <class T>
constexpr std::int64_t elements_of(std::int64_t units) {
  return std::same_as<std::remove_const_t<T>, f4e2m1> ? 2 * units : units;
}

/// Of so many units; more than there can be where they are too many.
template <class T>
constexpr std::int64_t bytes_of(std::int64_t units) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  return units > most / size ? most : units * size;
}

} // namespace detail

/// An array in the memory of the stream's device, for a parameter `view<T, Rank>`; it owns nothing.
/// Extents and strides are in elements, the last axis last.
template <class T, int Rank>
class array : public imbrex_array {
  static_assert(Rank >= 1 && Rank <= IMBREX_MOST_AXES);

public:
  using unit = detail::unit_of<T>;
  /// One for each axis.
  class numbers : public std::array<std::int64_t, Rank> {
  public:
    template <std::convertible_to<std::int64_t>... N>
      requires(sizeof...(N) == Rank)
    constexpr numbers(const N &...each)
        : std::array<std::int64_t, Rank>{static_cast<std::int64_t>(each)...} {}
    constexpr numbers(const std::array<std::int64_t, Rank> &each)
        : std::array<std::int64_t, Rank>(each) {}
  };

  /// Rows one behind the other.
  constexpr array(unit *first, const numbers &sizes) : array(first, sizes, packed(sizes)) {}
  constexpr array(unit *first, const numbers &sizes, const numbers &steps) : imbrex_array() {
    data = const_cast<std::remove_const_t<unit> *>(first);
    for (std::size_t axis = 0; axis < Rank; ++axis) {
      extents[axis] = sizes[axis];
      strides[axis] = steps[axis];
    }
  }
  /// A vector, a std::array, a span, a device_buffer: all of it.
  template <detail::contiguous_of<T> R>
    requires(Rank == 1 && !std::is_base_of_v<imbrex_array, std::remove_cvref_t<R>>)
  constexpr array(R &&range)
      : array(range.data(), {detail::elements_of<T>(static_cast<std::int64_t>(range.size()))}) {}
  /// What may be written may be read.
  template <class U>
    requires(std::same_as<const U, T>)
  constexpr array(const array<U, Rank> &other) : imbrex_array(other) {}

private:
  static constexpr numbers packed(const numbers &sizes) {
    std::array<std::int64_t, Rank> steps{};
    std::uint64_t step = 1; // a launch refuses an array that is so large that this wraps around
    for (std::size_t axis = Rank; axis-- > 0;) {
      steps[axis] = static_cast<std::int64_t>(step);
      step *= static_cast<std::uint64_t>(sizes[axis]);
    }
    return steps;
  }
};

/// Memory of the stream's device, for a parameter `ptr<T>`.
template <class T>
class memory : public imbrex_memory {
public:
  using unit = detail::unit_of<T>;

  /// Of so many units, which are bytes where two elements share one; without the number the kernel
  /// may run more slowly, for it could overlap another argument's.
  constexpr memory(unit *first, std::int64_t units = -1) : imbrex_memory() {
    data = const_cast<std::remove_const_t<unit> *>(first);
    bytes = units < 0 ? -1 : detail::bytes_of<unit>(units);
  }
  template <detail::contiguous_of<T> R>
    requires(!std::is_base_of_v<imbrex_memory, std::remove_cvref_t<R>>)
  constexpr memory(R &&range) : memory(range.data(), static_cast<std::int64_t>(range.size())) {}
};

/// What the caller promises of a table (imbrex_table).
enum class promise : std::int32_t {
  none = 0,
  aligned = IMBREX_ALIGNED,
  apart = IMBREX_APART,
  aligned_and_apart = IMBREX_ALIGNED | IMBREX_APART
};

/// Pointers in the memory of the stream's device, for a parameter `table<T>`; behind so many stands
/// a null one.
template <class T>
class table : public imbrex_table {
public:
  using unit = detail::unit_of<T>;

  constexpr table(unit *const *first, std::int64_t number, promise kept = promise::none)
      : imbrex_table{first, number, static_cast<std::int32_t>(kept)} {}
};

} // namespace imbrex::aot
