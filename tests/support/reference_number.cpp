#include "tests/support/reference_number.h"

#include <algorithm>
#include <bit>

namespace imbrex::semantics {
namespace {

using ir::ElementKind;

struct Format {
  std::int32_t exponentBits, mantissaBits, bias;
  std::uint64_t largest;  // the code of the largest finite number
  std::uint64_t infinity; // 0: none
  std::uint64_t nan;      // the canonical one; of a format without NaN what stands for it
  bool hasNegativeZero = true;

  std::uint64_t signBit() const { return std::uint64_t{1} << (exponentBits + mantissaBits); }
};

Format formatOf(ElementKind kind) {
  if (kind == ElementKind::F16) return {5, 10, 15, 0x7bff, 0x7c00, 0x7e00};
  if (kind == ElementKind::BF16) return {8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0};
  if (kind == ElementKind::F32) return {8, 23, 127, 0x7f7fffff, 0x7f800000, 0x7fc00000};
  if (kind == ElementKind::F64)
    return {11, 52, 1023, 0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff8000000000000};
  if (kind == ElementKind::F8E4M3FN) return {4, 3, 7, 0x7e, 0, 0x7f};
  if (kind == ElementKind::F8E5M2) return {5, 2, 15, 0x7b, 0x7c, 0x7e};
  if (kind == ElementKind::F8E4M3FNUZ) return {4, 3, 8, 0x7f, 0, 0x80, false};
  if (kind == ElementKind::F8E5M2FNUZ) return {5, 2, 16, 0x7f, 0, 0x80, false};
  return {2, 1, 1, 0x7, 0, 0x7}; // f4e2m1
}

/// mantissa >> shift, rounded.
std::uint64_t shiftedRight(std::uint64_t mantissa, std::int32_t shift, bool isTowardZero) {
  if (shift > 64) return 0;
  const std::uint64_t kept = shift == 64 ? 0 : mantissa >> shift;
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const std::uint64_t rest = shift == 64 ? mantissa : mantissa & ((half << 1) - 1);
  const bool isUp = rest > half || (rest == half && kept % 2 == 1);
  return kept + (isUp && !isTowardZero ? 1 : 0);
}

std::uint64_t encodeScale(const Number &number, bool isTowardZero) {
  if (number.kind == Number::Kind::Infinite) return number.isNegative ? 255 : 254;
  if (number.mantissa == 0) return 0;
  if (number.isNegative) return 255;
  const std::int32_t width = 64 - std::countl_zero(number.mantissa);
  std::int32_t code = number.exponent + width - 1 + 127;
  // Against one and a half: the bit below the highest, and the ones below that.
  const std::uint64_t half = width > 1 ? std::uint64_t{1} << (width - 2) : 0;
  const bool isHalf = half != 0 && (number.mantissa & half) != 0;
  const bool isMore = isHalf && (number.mantissa & (half - 1)) != 0;
  if (!isTowardZero && isHalf && (isMore || code % 2 != 0)) ++code;
  return static_cast<std::uint64_t>(std::clamp(code, 0, 254));
}

std::uint64_t encodeFloat(const Format &format, const Number &number, bool isNarrow,
                          bool isTowardZero) {
  const std::uint64_t sign = number.isNegative ? format.signBit() : 0;
  if (number.kind == Number::Kind::Infinite)
    return sign | (isNarrow ? format.largest : format.infinity);
  std::uint64_t code = 0;
  if (number.mantissa != 0) {
    const std::int32_t width = 64 - std::countl_zero(number.mantissa);
    const std::int32_t exponent =
        std::max(number.exponent + width - 1, 1 - format.bias) - format.mantissaBits;
    const std::int32_t shift = exponent - number.exponent;
    const std::uint64_t mantissa =
        shift > 0 ? shiftedRight(number.mantissa, shift, isTowardZero) : number.mantissa << -shift;
    // The hidden bit counts as one step of the exponent field, and a carry out of it as another.
    const std::int64_t field = std::int64_t{exponent} + format.mantissaBits + format.bias - 1;
    const bool isHuge = field > (std::int64_t{1} << format.exponentBits);
    code = isHuge ? ~std::uint64_t{0}
                  : (static_cast<std::uint64_t>(field) << format.mantissaBits) + mantissa;
  }
  if (code > format.largest) code = isNarrow || isTowardZero ? format.largest : format.infinity;
  return code == 0 && !format.hasNegativeZero ? 0 : sign | code;
}

std::uint64_t encodeInteger(ElementKind kind, const Number &number) {
  const std::int32_t bits = ir::info(kind).bits - (ir::isSigned(kind) ? 1 : 0);
  const std::uint64_t highest = ~std::uint64_t{0} >> (64 - bits);
  const std::uint64_t most = number.isNegative ? (ir::isSigned(kind) ? highest + 1 : 0) : highest;
  std::uint64_t magnitude = most;
  if (number.kind == Number::Kind::Nan) return 0;
  if (number.kind == Number::Kind::Finite && number.mantissa == 0) return 0;
  if (number.kind == Number::Kind::Finite) {
    const std::int32_t width = 64 - std::countl_zero(number.mantissa) + number.exponent;
    if (width <= 0) return 0;
    if (width <= 64)
      magnitude = std::min(most, number.exponent >= 0 ? number.mantissa << number.exponent
                                                      : number.mantissa >> -number.exponent);
  }
  const std::uint64_t value = number.isNegative ? 0 - magnitude : magnitude;
  return value & (~std::uint64_t{0} >> (64 - ir::info(kind).bits));
}

} // namespace

Number decode(ElementKind kind, std::uint64_t bits) {
  if (kind == ElementKind::E8M0)
    return bits == 0xff
               ? Number{Number::Kind::Nan}
               : Number{Number::Kind::Finite, false, 1, static_cast<std::int32_t>(bits) - 127};
  if (!isAnyFloat(kind)) {
    const std::int32_t width = ir::info(kind).bits;
    const bool isNegative = ir::isSigned(kind) && (bits >> (width - 1) & 1) != 0;
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
    return {Number::Kind::Finite, isNegative, isNegative ? (0 - bits) & mask : bits, 0};
  }
  const Format format = formatOf(kind);
  const bool isNegative = (bits & format.signBit()) != 0;
  const std::uint64_t magnitude = bits & (format.signBit() - 1);
  if (!format.hasNegativeZero && bits == format.nan) return {Number::Kind::Nan};
  if (format.infinity != 0 && magnitude == format.infinity)
    return {Number::Kind::Infinite, isNegative};
  if (magnitude > format.largest) return {Number::Kind::Nan};
  const std::uint64_t field = magnitude >> format.mantissaBits;
  const std::uint64_t hidden = field == 0 ? 0 : std::uint64_t{1} << format.mantissaBits;
  const std::uint64_t rest = magnitude & ((std::uint64_t{1} << format.mantissaBits) - 1);
  return {Number::Kind::Finite, isNegative, hidden + rest,
          std::max(static_cast<std::int32_t>(field), 1) - format.bias - format.mantissaBits};
}

std::uint64_t encode(ElementKind kind, const Number &number, bool isTowardZero) {
  if (kind == ElementKind::Bool)
    return number.kind != Number::Kind::Finite || number.mantissa != 0 ? 1 : 0;
  if (!isAnyFloat(kind)) return encodeInteger(kind, number);
  if (number.kind == Number::Kind::Nan)
    return kind == ElementKind::E8M0 ? 0xff : formatOf(kind).nan;
  if (kind == ElementKind::E8M0) return encodeScale(number, isTowardZero);
  return encodeFloat(formatOf(kind), number, ir::isNarrowFloat(kind), isTowardZero);
}

std::uint64_t converted(ElementKind from, ElementKind to, std::uint64_t bits, bool isTowardZero) {
  if (from == to) return bits;
  if (isAnyFloat(from) || isAnyFloat(to) || to == ElementKind::Bool)
    return encode(to, decode(from, bits), isTowardZero);
  const Number number = decode(from, bits);
  const std::uint64_t value = number.isNegative ? 0 - number.mantissa : number.mantissa;
  return value & (~std::uint64_t{0} >> (64 - ir::info(to).bits));
}

} // namespace imbrex::semantics
