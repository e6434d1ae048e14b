#pragma once

#include "backend/math/precision.h"

namespace imbrex::math {

/// Adding this rounds a float to an integer n and leaves n + 2 bias in the low bits of the sum.
template <class P>
inline constexpr typename P::Float kRoundAndBias = kRounder<P> + 2 * kBias<P>;

/// p 2^n, where p is about 1 and the low bits of `biased` hold n + 2 bias. The power is the product
/// of two normal numbers about equally large, so that only the last multiplication can round,
/// overflow, or give a subnormal.
template <class P, class F, class U>
F scaledByPowerOf2(F p, U biased) {
  U half = biased >> 1;
  return p * floatOf(half << kMantissaBits<P>) * floatOf((biased - half) << kMantissaBits<P>);
}

/// The least n of 2^n, where the powers that it is the product of have the bits of 0. Results
/// vanish long before; but a product that does so takes x86's processors a hundred cycles and more,
/// one with 0 does not, and whole tiles are masked by numbers such as -1e30, which end at this
/// bound.
template <class P>
inline constexpr typename P::Float kLeastExponent = -2 * kBias<P>;

/// exp(x) = 2^n exp(r), n = round(x / ln 2), r = x - n ln 2 in two steps (Cody and Waite).
template <class P, class F>
F exp(F x) {
  // From the upper bound on the result is infinity.
  F clamped = maxOrNaN(minOrNaN(x, F(P::kExpHigh)), F(kLeastExponent<P> * P::kLn2));
  F shifted = fma(clamped, F(P::kLog2e), F(kRoundAndBias<P>));
  F n = shifted - F(kRoundAndBias<P>);
  F r = fma(n, F(-P::kLn2Tail), fma(n, F(-P::kLn2), clamped));
  return scaledByPowerOf2<P>(polynomial(r, P::kExp), bitsOf(shifted));
}

/// More than what n can be below the least exponent.
inline constexpr int kExpLift = 64;
/// Adding this rounds a float to an integer n and leaves n + kExpLift + bias in the low bits.
template <class P>
inline constexpr typename P::Float kRoundAndExpLift = kRounder<P> + kBias<P> + kExpLift;

/// The same bits of an x that is not positive: where nothing overflows, p 2^(n + 64) is normal and
/// exact, and the product rounds only when the 64 is taken back.
template <class P, class F>
F expOfNonePositive(F x) {
  constexpr typename P::Float kRound = kRoundAndExpLift<P>;
  F clamped = maxOrNaN(x, F(-(kBias<P> + kExpLift) * P::kLn2)); // 2^(n + 64) has the bits of 0
  F shifted = fma(clamped, F(P::kLog2e), F(kRound));
  F n = shifted - F(kRound);
  F r = fma(n, F(-P::kLn2Tail), fma(n, F(-P::kLn2), clamped));
  F lifted = polynomial(r, P::kExp) * floatOf(bitsOf(shifted) << kMantissaBits<P>);
  return lifted * F(powerOf2<P>(-kExpLift));
}

/// exp2(x) = 2^n 2^r, n = round(x).
template <class P, class F>
F exp2(F x) {
  F clamped = maxOrNaN(minOrNaN(x, F(P::kExp2High)), F(kLeastExponent<P>));
  F shifted = clamped + F(kRoundAndBias<P>);
  F r = clamped - (shifted - F(kRoundAndBias<P>));
  return scaledByPowerOf2<P>(polynomial(r, P::kExp2), bitsOf(shifted));
}

/// exp(x) - 1 = 2^n (exp(r) - 1) + (2^n - 1), each term halved so that 2^n may be 2^128 or 2^1024.
template <class P, class F>
F expm1(F x) {
  constexpr typename P::Float kRound = kRounder<P> + (kBias<P> - 1);
  F clamped = maxOrNaN(minOrNaN(x, F(P::kExpHigh)), F(P::kExpm1Low));
  F shifted = fma(clamped, F(P::kLog2e), F(kRound));
  F n = shifted - F(kRound);
  F r = fma(n, F(-P::kLn2Tail), fma(n, F(-P::kLn2), clamped));
  F rest = fma(r * r, polynomial(r, P::kExpm1), r);
  F half = floatOf(bitsOf(shifted) << kMantissaBits<P>);
  F value = fma(rest, half, half - F(0.5f)) * F(2);
  // What vanishes against its own square is its own value, also as a subnormal or -0.
  return select(abs(x) < F(powerOf2<P>(-kMantissaBits<P> - 2)), x, value);
}

} // namespace imbrex::math
