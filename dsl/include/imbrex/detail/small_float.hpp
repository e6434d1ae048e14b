#pragma once

#include <imbrex/detail/compiler.hpp>

#include <bit>
#include <cstdint>

/// The arithmetic of formats: from a double to the nearest code of a smaller format and back, in
/// integers only, so that it is exact, constexpr and the same everywhere: it obeys neither the
/// caller's rounding mode nor, as a program that is linked with -ffast-math has it, its flushing of
/// subnormals.
namespace imbrex::detail {

/// What becomes of a magnitude beyond the largest finite one.
enum class overflow : std::uint8_t {
  infinity, ///< IEEE: f16, bf16
  saturate, ///< the largest finite value, for infinities too: f8, f4
};

struct float_format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  overflow beyond;
  std::uint32_t largest;  ///< code of the largest finite value
  std::uint32_t nan;      ///< code of the NaN that a conversion makes
  std::uint32_t infinity; ///< code of +infinity; 0: there is none
  bool has_negative_zero;
  bool has_nan;
};

inline constexpr float_format binary16{5,      10,   15,  overflow::infinity, 0x7bff, 0x7e00,
                                       0x7c00, true, true};
inline constexpr float_format bfloat16{8,      7,    127, overflow::infinity, 0x7f7f, 0x7fc0,
                                       0x7f80, true, true};
/// f32, which a double of the host is rounded to.
inline constexpr float_format binary32{
    8, 23, 127, overflow::infinity, 0x7f7fffff, 0x7fc00000, 0x7f800000, true, true};
inline constexpr float_format e4m3fn{4, 3, 7, overflow::saturate, 0x7e, 0x7f, 0, true, true};
inline constexpr float_format e5m2{5, 2, 15, overflow::saturate, 0x7b, 0x7e, 0x7c, true, true};
inline constexpr float_format e4m3fnuz{4, 3, 8, overflow::saturate, 0x7f, 0x80, 0, false, true};
inline constexpr float_format e5m2fnuz{5, 2, 16, overflow::saturate, 0x7f, 0x80, 0, false, true};
inline constexpr float_format e2m1{2, 1, 1, overflow::saturate, 0x7, 0x7, 0, true, false};

/// `magnitude` · 2^-shift to the nearest integer, ties to even.
constexpr std::uint64_t shift_right_to_even(std::uint64_t magnitude, int shift) {
  if (shift <= 0) return magnitude << -shift;
  if (shift > 63) return 0;
  const std::uint64_t kept = magnitude >> shift;
  const std::uint64_t rest = magnitude & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
}

/// The code of `significand` · 2^exponent, which is not zero; may lie beyond the largest finite
/// one.
constexpr std::uint64_t encode_magnitude(int mantissa_bits, int bias, std::uint64_t significand,
                                         int exponent) {
  const int top = static_cast<int>(std::bit_width(significand)) - 1;
  // Subnormals of the format share the lowest normal exponent: they have fewer bits, not a lower
  // one. The hidden bit of a normal one then adds the 1 that its exponent field still lacks.
  const int lowest = 1 - bias;
  const int scale = exponent + top < lowest ? lowest : exponent + top;
  const std::uint64_t mantissa = shift_right_to_even(significand, scale - exponent - mantissa_bits);
  return (static_cast<std::uint64_t>(scale - lowest) << mantissa_bits) + mantissa;
}

/// The nearest code of a finite magnitude, ties to even.
constexpr std::uint32_t encode_finite(float_format to, bool negative, std::uint64_t significand,
                                      int exponent) {
  const std::uint32_t sign_bit = std::uint32_t{1} << (to.exponent_bits + to.mantissa_bits);
  const std::uint32_t sign = negative ? sign_bit : 0;
  if (significand == 0) return to.has_negative_zero ? sign : 0;
  const std::uint64_t code = encode_magnitude(to.mantissa_bits, to.bias, significand, exponent);
  if (code > to.largest) return sign | (to.beyond == overflow::infinity ? to.infinity : to.largest);
  if (code == 0 && !to.has_negative_zero) return 0;
  return sign | static_cast<std::uint32_t>(code);
}

/// The code of the double with these bits, rounded to nearest even.
constexpr std::uint32_t encode(float_format to, std::uint64_t bits) {
  const auto field = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const bool negative = bits >> 63 != 0;
  if (field == 0x7ff) // more than every finite number; saturates where there is no infinity
    return fraction != 0 ? to.nan : encode_finite(to, negative, 1, 2000);
  if (field == 0) return encode_finite(to, negative, fraction, -1074);
  return encode_finite(to, negative, fraction | std::uint64_t{1} << 52, field - 1075);
}

/// The bits of the double ±`significand` · 2^exponent, which is exact and no subnormal.
constexpr std::uint64_t exact_double(bool negative, std::uint64_t significand, int exponent) {
  const std::uint64_t sign = static_cast<std::uint64_t>(negative) << 63;
  if (significand == 0) return sign;
  const int top = static_cast<int>(std::bit_width(significand)) - 1;
  return sign |
         ((static_cast<std::uint64_t>(exponent + top + 1022) << 52) + (significand << (52 - top)));
}

inline constexpr std::uint64_t infinite_double = std::uint64_t{0x7ff} << 52;

/// The bits of a number of the host as a double: a float's without an instruction of the processor,
/// which may be set to flush subnormals, and without a float that a compiler sees, which may have
/// been told that none is infinite (-ffast-math). By reference for the same reason.
constexpr std::uint64_t double_bits(const double &x) { return std::bit_cast<std::uint64_t>(x); }
constexpr std::uint64_t double_bits(const float &x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const bool negative = bits >> 31 != 0;
  const auto field = static_cast<int>(bits >> 23 & 0xff);
  const std::uint64_t fraction = bits & 0x7fffff;
  if (field == 0xff)
    return static_cast<std::uint64_t>(negative) << 63 | infinite_double | fraction << 29;
  if (field == 0) return exact_double(negative, fraction, -149);
  return exact_double(negative, fraction | 0x800000, field - 150);
}

constexpr std::uint64_t double_bits(const long double &x) {
  return double_bits(static_cast<double>(x));
}

/// An infinity or a NaN, as the bits of a double.
struct special_number {
  std::uint64_t bits;
  constexpr special_number operator-() const { return {bits ^ std::uint64_t{1} << 63}; }
  constexpr special_number operator+() const { return *this; }
};
constexpr std::uint64_t double_bits(const special_number &x) { return x.bits; }

/// The bits of the double that equals a code.
constexpr std::uint64_t decode_bits(float_format from, std::uint32_t code) {
  const std::uint32_t sign_bit = std::uint32_t{1} << (from.exponent_bits + from.mantissa_bits);
  const std::uint32_t magnitude = code & (sign_bit - 1);
  const bool negative = (code & sign_bit) != 0;
  const bool is_infinite = from.infinity != 0 && magnitude == from.infinity;
  if (is_infinite) return static_cast<std::uint64_t>(negative) << 63 | infinite_double;
  const bool is_nan =
      from.has_nan && (from.has_negative_zero ? magnitude > from.largest : code == from.nan);
  if (is_nan) return std::uint64_t{0x7ff8} << 48;
  const int field = static_cast<int>(magnitude >> from.mantissa_bits);
  const std::uint32_t fraction = magnitude & ((1U << from.mantissa_bits) - 1);
  const std::uint32_t significand = field == 0 ? fraction : fraction | 1U << from.mantissa_bits;
  return exact_double(negative, significand,
                      (field == 0 ? 1 : field) - from.bias - from.mantissa_bits);
}

/// The value of a code; exact.
constexpr double decode(float_format from, std::uint32_t code) {
  return std::bit_cast<double>(decode_bits(from, code));
}

} // namespace imbrex::detail
