#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

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
inline constexpr float_format e4m3fn{4, 3, 7, overflow::saturate, 0x7e, 0x7f, 0, true, true};
inline constexpr float_format e5m2{5, 2, 15, overflow::saturate, 0x7b, 0x7e, 0x7c, true, true};
inline constexpr float_format e4m3fnuz{4, 3, 8, overflow::saturate, 0x7f, 0x80, 0, false, true};
inline constexpr float_format e5m2fnuz{5, 2, 16, overflow::saturate, 0x7f, 0x80, 0, false, true};
inline constexpr float_format e2m1{2, 1, 1, overflow::saturate, 0x7, 0x7, 0, true, false};
inline constexpr float_format binary32{
    8, 23, 127, overflow::infinity, 0x7f7fffff, 0x7fc00000, 0x7f800000, true, true};

/// `magnitude` · 2^-shift to the nearest integer, ties to even.
constexpr std::uint64_t shift_right_to_even(std::uint64_t magnitude, int shift) {
  if (shift <= 0) return magnitude << -shift;
  if (shift > 63) return 0;
  const std::uint64_t kept = magnitude >> shift;
  const std::uint64_t rest = magnitude & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
}

/// The code of |x| for a finite x that is not zero; may lie beyond the largest finite code.
constexpr std::uint64_t encode_magnitude(float_format to, std::uint64_t double_bits) {
  const int field = static_cast<int>(double_bits >> 52 & 0x7ff);
  const std::uint64_t fraction = double_bits & ((std::uint64_t{1} << 52) - 1);
  const std::uint64_t significand = field == 0 ? fraction : fraction | std::uint64_t{1} << 52;
  const int exponent = field == 0 ? -1022 : field - 1023;
  // Subnormals of `to` share the lowest normal exponent: they have fewer bits, not a lower one. The
  // hidden bit of a normal one then adds the 1 that its exponent field still lacks.
  const int lowest = 1 - to.bias;
  const int scale = exponent < lowest ? lowest : exponent;
  const std::uint64_t mantissa =
      shift_right_to_even(significand, 52 - to.mantissa_bits + (scale - exponent));
  return (static_cast<std::uint64_t>(scale - lowest) << to.mantissa_bits) + mantissa;
}

/// The nearest code, ties to even.
constexpr std::uint32_t encode(float_format to, double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  const std::uint64_t infinite = std::uint64_t{0x7ff} << 52;
  const std::uint32_t sign_bit = std::uint32_t{1} << (to.exponent_bits + to.mantissa_bits);
  if (magnitude > infinite) return to.nan;
  const std::uint32_t sign = (bits >> 63) != 0 ? sign_bit : 0;
  if (magnitude == 0) return to.has_negative_zero ? sign : 0;
  const bool is_infinite = magnitude == infinite;
  const std::uint64_t code = is_infinite ? to.largest + 1 : encode_magnitude(to, magnitude);
  if (code > to.largest) return sign | (to.beyond == overflow::infinity ? to.infinity : to.largest);
  if (code == 0 && !to.has_negative_zero) return 0;
  return sign | static_cast<std::uint32_t>(code);
}

/// 2^exponent, for the normal exponents of a double.
constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// The value of a code; exact.
constexpr double decode(float_format from, std::uint32_t code) {
  const std::uint32_t sign_bit = std::uint32_t{1} << (from.exponent_bits + from.mantissa_bits);
  const std::uint32_t magnitude = code & (sign_bit - 1);
  const std::uint64_t sign = (code & sign_bit) != 0 ? std::uint64_t{1} << 63 : 0;
  const auto of_bits = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
  const bool is_infinite = from.infinity != 0 && magnitude == from.infinity;
  if (is_infinite) return of_bits(sign | std::uint64_t{0x7ff} << 52);
  const bool is_nan =
      from.has_nan && (from.has_negative_zero ? magnitude > from.largest : code == from.nan);
  if (is_nan) return of_bits(std::uint64_t{0x7ff8} << 48);
  if (magnitude == 0) return of_bits(sign);
  const int field = static_cast<int>(magnitude >> from.mantissa_bits);
  const std::uint32_t fraction = magnitude & ((1U << from.mantissa_bits) - 1);
  const std::uint32_t significand = field == 0 ? fraction : fraction | 1U << from.mantissa_bits;
  // A double has a hidden bit for every number of these formats.
  const int leading = static_cast<int>(std::bit_width(significand)) - 1;
  const int exponent = (field == 0 ? 1 : field) - from.bias - from.mantissa_bits + leading;
  const std::uint64_t rest = significand - (std::uint64_t{1} << leading);
  return of_bits(sign | static_cast<std::uint64_t>(exponent + 1023) << 52 | rest << (52 - leading));
}

// --- the host's own float, double and integers ---

/// A float as a double; exact.
constexpr double widened(float x) { return decode(binary32, std::bit_cast<std::uint32_t>(x)); }
/// The nearest float, ties to even.
constexpr float narrowed(double x) { return std::bit_cast<float>(encode(binary32, x)); }

/// The double nearest to an integer, ties to even; or, before it is rounded to fewer bits, one on
/// the same side of each of theirs, which has its last bit set if it is not exact.
template <class Integer>
constexpr double from_integer(Integer x, bool to_odd) {
  const bool is_negative = x < Integer{};
  const auto wide = static_cast<std::uint64_t>(x);
  const std::uint64_t magnitude = is_negative ? 0 - wide : wide;
  const auto width = static_cast<int>(std::bit_width(magnitude));
  const int shift = width > 53 ? width - 53 : 0;
  std::uint64_t kept = shift_right_to_even(magnitude, shift);
  if (to_odd) kept = magnitude >> shift | (magnitude << 1 << (63 - shift) != 0 ? 1 : 0);
  const double exact = static_cast<double>(static_cast<std::int64_t>(kept)) * power_of_two(shift);
  return is_negative ? -exact : exact;
}

/// A number of the host as a float or a double, rounded to nearest even.
template <class To, class From>
constexpr To to_host_float(From x) {
  static_assert(std::is_floating_point_v<To> && std::is_arithmetic_v<From>);
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (std::is_same_v<From, bool>)
    return x ? To{1} : To{0};
  else if constexpr (std::is_integral_v<From>)
    return to_host_float<To>(from_integer(x, std::is_same_v<To, float>));
  else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, double>)
    return widened(x);
  else if constexpr (std::is_same_v<From, double> && std::is_same_v<To, float>)
    return narrowed(x);
  else
    return static_cast<To>(x); // long double
}

/// A number of the host as the double that a format takes its nearest code from.
template <class From>
constexpr double to_encode(From x) {
  if constexpr (std::is_integral_v<From> && !std::is_same_v<From, bool>)
    return from_integer(x, true);
  else
    return to_host_float<double>(x);
}

/// Whether a number of the host is a zero; a subnormal is none, whatever the caller's state.
template <class Number>
constexpr bool is_zero(Number x) {
  if constexpr (std::is_same_v<Number, float>)
    return std::bit_cast<std::uint32_t>(x) << 1 == 0;
  else if constexpr (std::is_same_v<Number, double>)
    return std::bit_cast<std::uint64_t>(x) << 1 == 0;
  else
    return x == Number{};
}

} // namespace imbrex::detail
