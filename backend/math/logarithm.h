#pragma once

#include "backend/math/precision.h"

namespace imbrex::math {

/// x = 2^exponent (1 + fraction), fraction between sqrt(1/2) - 1 and sqrt(2) - 1.
template <class F>
struct Split {
  F exponent, fraction;
};

/// For positive, finite x; anything else gives some number.
template <class P, class F>
Split<F> split(F x) {
  using Float = typename P::Float;
  using Bits = typename P::Bits;
  using U = decltype(bitsOf(x));
  constexpr int M = kMantissaBits<P>;
  // A subnormal is lifted into the normal range by 2^M, which is M in the exponent field.
  auto subnormal = x < F(powerOf2<P>(1 - kBias<P>));
  U bits = bitsOf(select(subnormal, x * F(powerOf2<P>(M)), x));
  // The distance from sqrt(1/2) in steps of one binade is the exponent; kSignBit makes it positive.
  constexpr Bits kSqrtHalf = std::bit_cast<Bits>(static_cast<Float>(0x1.6a09e667f3bcdp-1));
  constexpr Bits kNormal = kSqrtHalf - kSignBit<P>, kLifted = kNormal + (Bits{M} << M);
  U above = bits - select(subnormal, U(kLifted), U(kNormal));
  F mantissa = floatOf((above & U(kMantissaMask<P>)) + U(kSqrtHalf));
  F exponent = toFloat<P>(above >> M, static_cast<Float>(kSignBit<P> >> M));
  return {exponent, mantissa - F(1)};
}

/// `finite`, or the logarithm of 0 (-inf), of infinity, or of what has none (NaN).
template <class P, class F>
F logOf(F x, F finite) {
  F result = select(x < F(kInfinity<P>), finite, F(kInfinity<P>));
  result = select(x == F(0), F(-kInfinity<P>), result);
  return orNaN<P>(x >= F(0), result);
}

/// log(x) + correction, the latter tiny.
template <class P, class F>
F correctedLog(F x, F correction) {
  auto [e, f] = split<P>(x);
  F tail = fma(f * f, polynomial(f, P::kLog), fma(e, F(P::kLn2Tail), correction));
  return fma(e, F(P::kLn2), f + tail);
}

template <class P, class F>
F log(F x) {
  return logOf<P>(x, correctedLog<P>(x, F(0)));
}

/// log(1 + x) = log(u) + (1 + x - u) / u, u being 1 + x as rounded.
template <class P, class F>
F log1p(F x) {
  F u = x + F(1);
  F larger = max(x, F(1)), smaller = min(x, F(1));
  F error = smaller - (u - larger);
  return logOf<P>(u, withSignOf<P>(x, correctedLog<P>(u, error / u)));
}

template <class P, class F>
F log2(F x) {
  auto [e, f] = split<P>(x);
  return logOf<P>(x, fma(f, F(P::kLog2e), f * polynomial(f, P::kLog2)) + e);
}

} // namespace imbrex::math
