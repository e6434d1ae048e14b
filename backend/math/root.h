#pragma once

#include "backend/math/precision.h"

namespace imbrex::math {

/// 1 / sqrt(x) by steps of Newton's, y + y e with e = (1 - x y²) / 2, from a first number that half
/// the exponent gives, negated, and a line for the mantissa; the last step takes e to twice the
/// precision. No division and no root, which many machines have long routines for.
template <class P, class F>
F rsqrt(F x) {
  using Float = typename P::Float;
  // Half of a subnormal number would be inexact.
  constexpr int kLift = kMantissaBits<P> + 1;
  auto isSmall = x < F(powerOf2<P>(2 - kBias<P>));
  F normal = select(isSmall, x * F(powerOf2<P>(2 * kLift)), x);

  auto bits = bitsOf(x);
  using U = decltype(bits);
  F half = normal * F(Float(-0.5f));
  F y = floatOf(U(P::kInverseRoot) - (bitsOf(normal) >> 1));
  y = y * fma(half * y, y, F(P::kInverseRootFirst));
  for (int step = 0; step < P::kInverseRootSteps; ++step) y = y * fma(half * y, y, F(Float(1.5f)));
  F root = half * y;
  F e = fma(fma(half, y, -root), y, fma(root, y, F(Float(0.5f))));
  y = fma(y, e, y);
  y = select(isSmall, y * F(powerOf2<P>(kLift)), y);

  // Of ±0, infinity and NaN the difference is ±infinity, 0 and NaN.
  constexpr auto kInfinityBits = std::bit_cast<typename P::Bits>(kInfinity<P>);
  F special = select(x < F(Float(0)), F(kNaN<P>), floatOf(U(kInfinityBits) - bits));
  return select(bits - U(1) < U(kInfinityBits - 1), y, special);
}

} // namespace imbrex::math
