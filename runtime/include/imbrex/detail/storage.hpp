#pragma once

#include <imbrex/detail/array_memory.hpp>
#include <imbrex/detail/promotion.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <ranges>
#include <source_location>
#include <type_traits>
#include <utility>

/// How the elements of memory lie on the host: as themselves, but for f4e2m1, of which a byte holds
/// two, the first in the low nibble.
namespace imbrex::detail {

template <class T>
inline constexpr bool is_packed = std::is_same_v<std::remove_const_t<T>, f4e2m1>;

template <class T>
using packed_byte = std::conditional_t<std::is_const_v<T>, const std::uint8_t, std::uint8_t>;
template <class T>
using storage_of = std::conditional_t<is_packed<T>, packed_byte<T>, T>;

template <class T>
inline constexpr std::int64_t storage_bits = is_packed<T> ? 4 : 8 * std::int64_t{sizeof(T)};

template <class T>
constexpr std::int64_t storage_bytes(std::int64_t elements) {
  return (elements * storage_bits<T> + 7) / 8;
}

constexpr std::uint8_t pack(f4e2m1 low, f4e2m1 high) {
  return static_cast<std::uint8_t>(low.bits | high.bits << 4);
}

/// A value of an array as an element of another: to a float rounded to nearest even, to f8 and f4
/// saturated.
template <class To, class From>
constexpr To converted_to(const From &value) {
  constexpr bool is_element = element<To> && (std::is_integral_v<From> || is_float_number<From>);
  constexpr bool by_bits =
      is_element && (kind_of<To> >= element_kind::floating || std::same_as<To, bool>);
  if constexpr (std::same_as<From, To>) {
    return value;
  } else if constexpr (by_bits) {
    To made{};
    set_bits(made, element_bits<To>(value));
    return made;
  } else if constexpr (std::is_convertible_v<const From &, To>) {
    return static_cast<To>(value);
  } else {
    return converted_to<To>(static_cast<double>(value));
  }
}

/// Whether a value is near enough to one of another type: a whole number in range, after its
/// fraction is dropped, and a finite one not infinite. f8 and f4 saturate, and so hold everything.
template <class To, class From>
constexpr bool holds(const From &value) {
  if constexpr (!std::is_arithmetic_v<From>) {
    return holds<To>(static_cast<double>(value));
  } else if constexpr (!std::is_integral_v<To> || std::same_as<To, bool>) {
    return fits<To>(value);
  } else if constexpr (std::is_integral_v<From> && !std::same_as<From, bool>) {
    using limits = std::numeric_limits<To>;
    const auto wide = +value; // std::in_range refuses char and its kin
    if constexpr (std::is_signed_v<decltype(wide)>)
      if (wide < 0)
        return std::is_signed_v<To> && std::intmax_t{wide} >= std::intmax_t{limits::min()};
    return static_cast<std::uintmax_t>(wide) <= static_cast<std::uintmax_t>(limits::max());
  } else {
    // Both ends are powers of two, or 0, and so exact.
    constexpr auto least = static_cast<double>(std::numeric_limits<To>::min());
    constexpr double beyond = 2.0 * static_cast<double>(std::numeric_limits<To>::max() / 2 + 1);
    if ((double_bits(value) & infinite_double) == infinite_double) return false; // or no number
    const double whole = std::trunc(static_cast<double>(value));
    return least <= whole && whole < beyond;
  }
}

/// A value of an array as another array's element; an error where that cannot hold it.
template <class To, class From>
To checked_to(const From &value, std::size_t index, std::source_location where) {
  if (!holds<To>(value))
    throw_out_of_range(static_cast<std::int64_t>(index), static_cast<double>(value),
                       element_info<To>.name, where);
  return converted_to<To>(value);
}

/// Convert the values of a range to T, one after the other, into memory.
template <class T, class Range>
void store_all(const Range &values, storage_of<T> *memory, std::source_location where) {
  std::size_t i = 0;
  for (const auto &value : values) {
    const auto converted = checked_to<T>(value, i, where);
    if constexpr (!is_packed<T>)
      memory[i] = converted;
    else if (i % 2 == 0)
      memory[i / 2] = converted.bits;
    else
      memory[i / 2] = static_cast<std::uint8_t>(memory[i / 2] | converted.bits << 4);
    ++i;
  }
}

/// Convert the T in memory, one after the other, to the elements of a range.
template <class T, class Range>
void load_all(const storage_of<T> *memory, Range &values, std::source_location where) {
  std::size_t i = 0;
  for (auto &value : values) {
    using wanted = std::ranges::range_value_t<Range>;
    if constexpr (is_packed<T>)
      value = checked_to<wanted>(
          f4e2m1::from_bits(static_cast<std::uint8_t>(memory[i / 2] >> 4 * (i % 2) & 0xf)), i,
          where);
    else
      value = checked_to<wanted>(memory[i], i, where);
    ++i;
  }
}

} // namespace imbrex::detail
