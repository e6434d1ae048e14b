#pragma once

#include "backend/math/exponential.h"

namespace imbrex::math {

/// x + x³ q(x²) near 0, and 1 - 2 / (1 + exp(2 |x|)) beyond, where tanh is at least 1/2.
template <class P, class F>
F tanh(F x) {
  constexpr typename P::Float kRound = kRounder<P> + kBias<P>;
  F magnitude = min(abs(x), F(P::kTanhHigh));
  F shifted = fma(magnitude, F(2 * P::kLog2e), F(kRound));
  F n = shifted - F(kRound);
  F r = fma(n, F(-P::kLn2Tail), fma(n, F(-P::kLn2), magnitude + magnitude));
  F power = floatOf(bitsOf(shifted) << kMantissaBits<P>);
  F large = F(1) - F(2) / fma(polynomial(r, P::kExp), power, F(1));
  F square = magnitude * magnitude;
  F small = fma(magnitude * square, polynomial(square, P::kTanh), magnitude);
  F value = select(magnitude < F(P::kTanhSmall), small, large);
  return orNaN<P>(x == x, withSignOf<P>(x, value));
}

/// x + x q(x²) near 0, and 1 - erfc |x| = 1 - 2^(polynomial) beyond, where erf is above 1/2.
template <class P, class F>
F erf(F x) {
  constexpr typename P::Float kRound = kRounder<P> + kBias<P>;
  F magnitude = min(abs(x), F(P::kErfHigh));
  F exponent = polynomial(magnitude, P::kErfcExponent);
  F shifted = exponent + F(kRound);
  F r = exponent - (shifted - F(kRound));
  F power = floatOf(bitsOf(shifted) << kMantissaBits<P>);
  F large = fma(polynomial(r, P::kExp2), -power, F(1));
  F small = fma(magnitude, polynomial(magnitude * magnitude, P::kErf), magnitude);
  F value = select(magnitude < F(P::kErfSmall), small, large);
  return orNaN<P>(x == x, withSignOf<P>(x, value));
}

} // namespace imbrex::math
