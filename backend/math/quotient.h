#pragma once

#include "backend/math/precision.h"

/// Many quotients a / b by one divisor, each correctly rounded: its reciprocal y, correctly
/// rounded, and three operations for each,
///
///   q = a y,  r = q b - a,  a / b = q - r y      (Markstein, IBM J. Res. Dev. 34, 1990)
///
/// as long as q is normal and r exact. tests/unit/math/quotient_test.cpp tries every divisor, with
/// the dividends whose quotients are nearest to the middle between two floats. What the range
/// leaves out takes f64, where no intermediate result of floats overflows or is subnormal.
///
/// The remainder has this sign, and not that of a - q b, so that 0 / b has the right one for b > 0:
/// q is the zero that it should be, and r y is +0.
namespace imbrex::math {

/// |b| is between 2^-n and 2^n, |a| between 2^-m and 2^m or 0: q is between 2^-124 and 2^124, and r
/// a multiple of 2^-147.
inline constexpr int kDivisorReach = 24, kDividendReach = 100;

/// Whether the quotients by b can be made so. A divisor whose significand is all ones cannot: its
/// reciprocal lies too near to the middle between two floats to be found by iteration.
template <class U>
auto isTameDivisor(U b) {
  constexpr std::uint32_t kLeast = std::bit_cast<std::uint32_t>(powerOf2<Single>(-kDivisorReach));
  constexpr std::uint32_t kEnd = std::bit_cast<std::uint32_t>(powerOf2<Single>(kDivisorReach));
  constexpr std::uint32_t kOnes = kMantissaMask<Single>;
  // The next mantissa of one that is all ones is 0.
  U magnitude = b & U(~kSignBit<Single>);
  U next = (b + U(1)) & U(kOnes);
  return select(next == U(0), U(kEnd), magnitude - U(kLeast)) < U(kEnd - kLeast);
}

/// 1 / b, correctly rounded, of a tame divisor, by two of Newton's steps from a number that may be
/// 4 ulp off.
template <class F>
F reciprocalFrom(F seed, F b) {
  F nearer = fma(seed, fma(-b, seed, F(1)), seed);
  return fma(nearer, fma(-b, nearer, F(1)), nearer);
}

template <class F>
F quotientBy(F reciprocal, F a, F b) {
  F q = a * reciprocal;
  return fma(fma(q, b, -a), -reciprocal, q);
}

/// The size of a dividend, doubled, as an integer; less one for b > 0, so that 0 is as good as a
/// large number. For b < 0 the zero's sign would be wrong.
template <class U>
U sizeOfDividend(U a, U b) {
  return (a << 1) - ((b >> 31) ^ U(1));
}
template <class U>
auto areLargeEnough(U leastSize) {
  return U(2 * std::bit_cast<std::uint32_t>(powerOf2<Single>(-kDividendReach)) - 2) < leastSize;
}
template <class F>
auto areSmallEnough(F largest) {
  return largest < F(powerOf2<Single>(kDividendReach));
}

/// What all quotients by one divisor share in f64, whatever it is.
template <class F, class D>
struct WideDivisor {
  D divisor, reciprocal;
  F special; ///< 1 / b where that is 0, infinite or NaN; else ±1.
};

template <class D, class F>
WideDivisor<F, D> wideDivisor(F b) {
  auto bits = bitsOf(b);
  using U = decltype(bits);
  U sign = bits & U(kSignBit<Single>);
  F infinity = floatOf(sign | U(std::bit_cast<std::uint32_t>(kInfinity<Single>)));
  F one = floatOf(sign | U(std::bit_cast<std::uint32_t>(1.0f)));
  F special = select(b == F(0), infinity, select(b == infinity, floatOf(sign), one));
  special = select(b == b, special, b);

  // The exponent negated, and a line for the reciprocal of the mantissa: 12 % off at most. Four
  // steps of Newton's make of it 2^-48.
  constexpr std::uint64_t kLine = 0x7fde623822fc16e6;
  D wide = toF64(b);
  D y = floatOf(decltype(bitsOf(wide))(kLine) - bitsOf(wide));
  for (int step = 0; step < 4; ++step) y = fma(y, fma(-wide, y, D(1)), y);
  return {wide, y, special};
}

/// a / b of any two floats, rounded once: the quotient in f64 is exact where it is the middle
/// between two floats, and far enough from all of them where it is not.
template <class F, class D>
F quotientIn(const WideDivisor<F, D> &by, F a) {
  D wide = toF64(a);
  D q = wide * by.reciprocal;
  F quotient = toF32(fma(fma(-q, by.divisor, wide), by.reciprocal, q));
  F special = a * by.special; // 0, infinite or NaN where a or 1 / b is
  F magnitude = abs(special);
  return select(magnitude == F(0), special,
                select(magnitude < F(kInfinity<Single>), quotient, special));
}

} // namespace imbrex::math
