#pragma once

#include "backend/math/precision.h"

/// Many quotients a / b by one divisor, each correctly rounded: its reciprocal y, and three
/// operations for each,
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

/// Of the largest significands some have a reciprocal that lies too near to the middle between two
/// floats to be found by one step of iteration; none but these sixteen do.
inline constexpr std::uint32_t kWildSignificands = 16;

/// Whether the quotients by b can be made so.
template <class U>
auto isTameDivisor(U b) {
  constexpr std::uint32_t kLeast = std::bit_cast<std::uint32_t>(powerOf2<Single>(-kDivisorReach));
  constexpr std::uint32_t kEnd = std::bit_cast<std::uint32_t>(powerOf2<Single>(kDivisorReach));
  // Doubled, the bits have no sign. So many steps on, a wild significand has become a small one.
  constexpr std::uint32_t kSmall = 2 * kWildSignificands;
  constexpr std::uint32_t kDoubledSignificand = 2 * kMantissaMask<Single> + 1;
  U beyondLeast = (b << 1) + U(kSmall - 2 * kLeast);
  U significand = beyondLeast & U(kDoubledSignificand - (kSmall - 1));
  return select(significand == U(0), U(2 * (kEnd - kLeast)), beyondLeast) < U(2 * (kEnd - kLeast));
}

/// 1 / b of a tame divisor, by a step of Newton's from a number that may be 4 ulp off: correctly
/// rounded but for some fifty significands, which quotientBy serves as well.
template <class F>
F reciprocalFrom(F seed, F b) {
  return fma(seed, fma(-b, seed, F(1)), seed);
}

template <class F>
F quotientBy(F reciprocal, F a, F b) {
  F q = a * reciprocal;
  return fma(fma(q, b, -a), -reciprocal, q);
}

/// What is taken from the size of each dividend: one for b > 0, so that 0 is as good as a large
/// number. For b < 0 the zero's sign would be wrong.
template <class U>
U allowanceForZero(U b) {
  return (b >> 31) ^ U(1);
}
/// The size of a dividend, doubled, as an integer, less that.
template <class U>
U sizeOfDividend(U a, U allowance) {
  return (a << 1) - allowance;
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
template <class D>
struct WideDivisor {
  D divisor, reciprocal;
  D seed; ///< 0, infinite or NaN where 1 / b is; else near to it.
};

/// From a number that may be a 2^-14th off 1 / b, and has its value where that is 0, infinite or
/// NaN: the reciprocal is a 2^-28th off at most. Of 0 and of an infinity it is NaN.
template <class D>
WideDivisor<D> wideDivisor(D seed, D b) {
  return {b, fma(seed, fma(-b, seed, D(1)), seed), seed};
}

/// a / b of any two floats, rounded once: the remainder a - q b has 50 bits at most and is exact,
/// so that the quotient in f64 is a 2^-56th off before it is rounded. Where it is the middle
/// between two floats that is less than rounding puts right, and where it is not they are farther
/// away.
template <class F, class D>
F quotientIn(const WideDivisor<D> &by, F a) {
  D wide = toF64(a);
  D q = wide * by.reciprocal;
  D nearer = fma(fma(-q, by.divisor, wide), by.reciprocal, q);
  // It is 0 or NaN where a or 1 / b is 0, infinite or NaN: then a / b is what their product is.
  return toF32(select(D(0) < abs(nearer), nearer, wide * by.seed));
}

} // namespace imbrex::math
