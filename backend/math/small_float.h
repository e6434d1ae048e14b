#pragma once

#include "backend/math/precision.h"

/// Conversions between f32 and the formats of at most 16 bits, as functions of codes: the bits of
/// an f32 to the code of the small format and back. Every NaN becomes one NaN (0x7fc00000 in f32).
/// Only integer operations, but for one exact subtraction where a subnormal is decoded.
namespace imbrex::math {

enum class Specials {
  Ieee,         // the highest exponent is infinity (mantissa 0) and NaN
  AllOnesNaN,   // "fn": only the code of all ones, with either sign, is NaN; no infinity
  NegativeZero, // "fnuz": the code of -0 is the only NaN; no infinity, no -0
  FiniteOnly,   // neither: NaN becomes the largest positive number, as in hardware
  PowerOf2,     // no sign, no zero, no mantissa; the code of all ones is NaN
};

struct SmallFormat {
  int exponentBits, mantissaBits, bias;
  Specials specials;
  /// Beyond the largest number, also at infinity, stands the largest number.
  bool saturates;
};

inline constexpr SmallFormat kF16{5, 10, 15, Specials::Ieee, false};
inline constexpr SmallFormat kBF16{8, 7, 127, Specials::Ieee, false};
inline constexpr SmallFormat kF8E4M3FN{4, 3, 7, Specials::AllOnesNaN, true};
inline constexpr SmallFormat kF8E5M2{5, 2, 15, Specials::Ieee, true};
inline constexpr SmallFormat kF8E4M3FNUZ{4, 3, 8, Specials::NegativeZero, true};
inline constexpr SmallFormat kF8E5M2FNUZ{5, 2, 16, Specials::NegativeZero, true};
inline constexpr SmallFormat kF4E2M1{2, 1, 1, Specials::FiniteOnly, true};
inline constexpr SmallFormat kE8M0{8, 0, 127, Specials::PowerOf2, true};

enum class Rounding { NearestEven, TowardZero };

/// The code of the largest magnitude; what is not a number lies above it.
constexpr std::uint32_t magnitudeMask(SmallFormat f) {
  return (std::uint32_t{1} << (f.exponentBits + f.mantissaBits)) - 1;
}
constexpr std::uint32_t infinityCode(SmallFormat f) {
  return magnitudeMask(f) & ~((std::uint32_t{1} << f.mantissaBits) - 1);
}
constexpr std::uint32_t largestCode(SmallFormat f) {
  switch (f.specials) {
  case Specials::Ieee: return infinityCode(f) - 1;
  case Specials::AllOnesNaN:
  case Specials::PowerOf2: return magnitudeMask(f) - 1;
  case Specials::NegativeZero:
  case Specials::FiniteOnly: break;
  }
  return magnitudeMask(f);
}
/// The NaN that a conversion gives: quiet, positive, the rest of the mantissa zero.
constexpr std::uint32_t nanCode(SmallFormat f) {
  switch (f.specials) {
  case Specials::Ieee: return infinityCode(f) | 1u << (f.mantissaBits - 1);
  case Specials::NegativeZero: return magnitudeMask(f) + 1;
  case Specials::AllOnesNaN:
  case Specials::FiniteOnly:
  case Specials::PowerOf2: break;
  }
  return magnitudeMask(f);
}

inline constexpr std::uint32_t kF32Infinity = 0x7f800000, kF32NaN = 0x7fc00000;
inline constexpr std::uint32_t kF32One = 1u << 23; // the lowest bit of the exponent field

/// value / 2^shift, rounded; 0 < shift < 32, and value + 2^shift must not overflow.
template <Rounding R, class U>
U shiftedRight(U value, U shift) {
  if constexpr (R == Rounding::TowardZero) return value >> shift;
  U odd = (value >> shift) & U(1u);
  U belowHalf = (U(1u) << (shift - U(1u))) - U(1u);
  return (value + belowHalf + odd) >> shift;
}

/// The nearest power of 2 by value, ties to the even code; 2^-127 for whatever is less, 0 too, and
/// NaN for what is negative.
template <Rounding R, class U>
U encodePowerOf2(U bits) {
  U rounded = shiftedRight<R>(bits, U(23u));
  // Below 2^-126, where floats are equidistant, halfway between the codes 0 and 1 is 1.5 2^-127.
  U low = select(bits > U(R == Rounding::NearestEven ? 0x00600000u : kF32One - 1), U(1u), U(0u));
  U code = select(bits < U(kF32One), low, rounded);
  code = select(code > U(largestCode(kE8M0)), U(largestCode(kE8M0)), code);
  code = select(bits > U(kF32Infinity), U(nanCode(kE8M0)), code);
  return select(bits == U(0x80000000u), U(0u), code);
}

/// For the exponents of f32: a subnormal is nothing special, and rounding up past the largest
/// number gives the code of infinity by itself.
template <SmallFormat f, Rounding R, class U>
U encodeSameExponents(U bits) {
  static_assert(!f.saturates);
  U code = shiftedRight<R>(bits, U(static_cast<std::uint32_t>(23 - f.mantissaBits)));
  return select((bits & U(0x7fffffffu)) > U(kF32Infinity), U(nanCode(f)), code);
}

/// For fewer exponents than those of f32.
template <SmallFormat f, Rounding R, class U>
U encodeFewerExponents(U bits) {
  constexpr std::uint32_t kDrop = 23 - f.mantissaBits, kRebias = 127 - f.bias;
  static_assert(kRebias > 0);
  U magnitude = bits & U(0x7fffffffu);
  // Where the result is subnormal, the significand with its leading one moves right by as much more
  // as the exponent is too small; from 26 places on it is 0 in any case.
  auto subnormal = magnitude < U((kRebias + 1) << 23);
  U places = U(kDrop + kRebias + 1) - (magnitude >> 23);
  places = select(places > U(26u), U(26u), places);
  U significand = (magnitude & U(kF32One - 1)) | U(kF32One);
  U code = shiftedRight<R>(select(subnormal, significand, magnitude - U(kRebias << 23)),
                           select(subnormal, places, U(kDrop)));

  U limit = U(largestCode(f));
  if constexpr (!f.saturates)
    limit = R == Rounding::NearestEven
                ? U(infinityCode(f))
                : select(magnitude == U(kF32Infinity), U(infinityCode(f)), U(largestCode(f)));
  code = select(code > limit, limit, code);
  U sign = (bits & U(0x80000000u)) >> (31 - f.exponentBits - f.mantissaBits);
  if constexpr (f.specials == Specials::NegativeZero) sign = select(code == U(0u), U(0u), sign);
  return select(magnitude > U(kF32Infinity), U(nanCode(f)), code | sign);
}

/// The code of the float whose bits are given.
template <SmallFormat f, Rounding R = Rounding::NearestEven, class U>
U encode(U bits) {
  if constexpr (f.specials == Specials::PowerOf2)
    return encodePowerOf2<R>(bits);
  else if constexpr (f.bias == 127)
    return encodeSameExponents<f, R>(bits);
  else
    return encodeFewerExponents<f, R>(bits);
}

/// The bits of the float that a code stands for; the bits above the code are 0.
template <SmallFormat f, class U>
U decode(U code) {
  if constexpr (f.specials == Specials::PowerOf2) {
    U bits = select(code == U(0u), U(kF32One >> 1), code << 23);
    return select(code == U(nanCode(f)), U(kF32NaN), bits);
  }
  constexpr std::uint32_t kRebias = 127 - f.bias;
  U magnitude = code & U(magnitudeMask(f));
  U bits = (magnitude << (23 - f.mantissaBits)) + U(kRebias << 23);
  if constexpr (kRebias != 0) {
    // A subnormal is the difference of two normal numbers: 1.m and 1.0 times 2^(1 - bias).
    U normal = bitsOf(floatOf(bits + U(kF32One)) - floatOf(U((kRebias + 1) << 23)));
    bits = select(magnitude < U(1u << f.mantissaBits), normal, bits);
  }
  if constexpr (f.specials == Specials::Ieee)
    bits = select(magnitude == U(infinityCode(f)), U(kF32Infinity), bits);
  U sign = code & U(magnitudeMask(f) + 1);
  bits = bits | (sign << (31 - f.exponentBits - f.mantissaBits));
  if constexpr (f.specials == Specials::Ieee)
    return select(magnitude > U(infinityCode(f)), U(kF32NaN), bits);
  else if constexpr (f.specials == Specials::AllOnesNaN)
    return select(magnitude == U(magnitudeMask(f)), U(kF32NaN), bits);
  else if constexpr (f.specials == Specials::NegativeZero)
    return select(code == U(nanCode(f)), U(kF32NaN), bits);
  else
    return bits;
}

/// The f32 toward zero of a double, its last bit set if that is inexact. Rounding the result to a
/// format with at least two bits less gives what rounding the double at once gives.
template <class F64>
auto roundedToOdd(F64 x) {
  auto nearest = toF32(x);
  auto bits = bitsOf(nearest);
  using U = decltype(bits);
  bits = bits - select(abs(toF64(nearest)) > abs(x), U(1u), U(0u));
  return floatOf(bits | select(toF64(nearest) != x, U(1u), U(0u)));
}

} // namespace imbrex::math
