#pragma once

#include <imbrex/detail/small_float.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

/// The element types of tiles, views and pointers. On the host the small floats are storage: they
/// convert to and from float and double, exactly or rounded to nearest even, and compute nothing.
namespace imbrex {

using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using f32 = float;
using f64 = double;

namespace detail {

/// What the small floats share: a code, and conversions to and from it.
template <class Self, class Storage, float_format Format>
struct small_float {
  using storage = Storage;
  static constexpr float_format format = Format;

  Storage bits;

  constexpr small_float() = default;
  // By reference: see double_bits.
  explicit constexpr small_float(const double &value)
      : bits(static_cast<Storage>(encode(Format, double_bits(value)))) {}
  explicit constexpr small_float(const float &value)
      : bits(static_cast<Storage>(encode(Format, double_bits(value)))) {}
  // Of a volatile number a copy, before anything converts it.
  template <std::floating_point F>
  explicit constexpr small_float(const volatile F &value) : small_float(F{value}) {}
  explicit constexpr small_float(const special_number &value)
      : bits(static_cast<Storage>(encode(Format, double_bits(value)))) {}
  explicit constexpr small_float(int value) : small_float(static_cast<double>(value)) {}
  explicit constexpr operator double() const { return decode(Format, bits); }
  explicit constexpr operator float() const {
    return std::bit_cast<float>(encode(binary32, decode_bits(Format, bits)));
  }

  static constexpr Self from_bits(Storage code) {
    Self value(0.0);
    value.bits = code;
    return value;
  }
};

template <class Self, class Storage, float_format Format>
constexpr std::uint64_t double_bits(const small_float<Self, Storage, Format> &value) {
  return decode_bits(Format, value.bits);
}

} // namespace detail

/// IEEE binary16.
struct f16 : detail::small_float<f16, std::uint16_t, detail::binary16> {
  using small_float::small_float;
};
/// The upper half of an f32.
struct bf16 : detail::small_float<bf16, std::uint16_t, detail::bfloat16> {
  using small_float::small_float;
};
/// Largest 448, one NaN per sign, no infinity. Conversions to any f8 saturate.
struct f8e4m3fn : detail::small_float<f8e4m3fn, std::uint8_t, detail::e4m3fn> {
  using small_float::small_float;
};
/// Largest 57344, infinities (which no conversion makes) and NaNs as in IEEE.
struct f8e5m2 : detail::small_float<f8e5m2, std::uint8_t, detail::e5m2> {
  using small_float::small_float;
};
/// Largest 240, no infinity, no -0, NaN is 0x80.
struct f8e4m3fnuz : detail::small_float<f8e4m3fnuz, std::uint8_t, detail::e4m3fnuz> {
  using small_float::small_float;
};
/// Largest 57344, no infinity, no -0, NaN is 0x80.
struct f8e5m2fnuz : detail::small_float<f8e5m2fnuz, std::uint8_t, detail::e5m2fnuz> {
  using small_float::small_float;
};
/// 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; a NaN becomes 6. In memory two share a byte, the
/// first in the low nibble: on the host use bytes.
struct f4e2m1 : detail::small_float<f4e2m1, std::uint8_t, detail::e2m1> {
  using small_float::small_float;
};

/// A power of two, 2^-127 to 2^127, as the scale of a block of narrow floats; 0xff is NaN.
struct e8m0 {
  using storage = std::uint8_t;
  std::uint8_t bits;

  constexpr e8m0() = default;
  /// The nearest power of two within the range, of two equally near ones that with the even code.
  /// Zero gives 2^-127; NaN and what is below zero give NaN.
  explicit constexpr e8m0(const double &value) : e8m0(from_double(detail::double_bits(value))) {}
  explicit constexpr e8m0(const float &value) : e8m0(from_double(detail::double_bits(value))) {}
  explicit constexpr e8m0(int value) : e8m0(static_cast<double>(value)) {}
  explicit constexpr operator double() const { return std::bit_cast<double>(as_double()); }
  explicit constexpr operator float() const {
    return std::bit_cast<float>(detail::encode(detail::binary32, as_double()));
  }

  static constexpr e8m0 from_bits(std::uint8_t code) {
    e8m0 value{};
    value.bits = code;
    return value;
  }
  /// The same of the double with these bits.
  static constexpr e8m0 from_double(std::uint64_t code);

private:
  constexpr std::uint64_t as_double() const {
    return bits == 0xff ? std::uint64_t{0x7ff8} << 48 : detail::exact_double(false, 1, bits - 127);
  }
};

constexpr e8m0 e8m0::from_double(std::uint64_t code) {
  const bool is_nan = code << 1 > std::uint64_t{0x7ff} << 53;
  const bool is_zero = code << 1 == 0;
  if (is_nan || (code >> 63 != 0 && !is_zero)) return from_bits(0xff);
  if (is_zero) return from_bits(0);
  constexpr std::uint64_t half = std::uint64_t{1} << 51;
  const std::uint64_t fraction = code & (2 * half - 1);
  const int below = static_cast<int>(code >> 52) - 1023 + 127;
  const bool is_up = fraction > half || (fraction == half && below % 2 != 0);
  const int nearest = below + (is_up ? 1 : 0);
  return from_bits(static_cast<std::uint8_t>(nearest < 0 ? 0 : nearest > 254 ? 254 : nearest));
}

} // namespace imbrex
