#pragma once

#include "backend/math/reduction.h"

namespace imbrex::math {

/// What to do for an angle that only Payne and Hanek can reduce: no program but a test has many.
template <class P, class F, class U>
Reduced<F, U> orHuge(F magnitude, const Reduced<F, U> &reduced) {
  return rarely(
      magnitude >= F(powerOf2<P>(P::kHugeAngleExponent)),
      [&] { return reduceHugeAngle<P>(magnitude); }, reduced);
}

template <class P, class F>
F sinOfRest(F r) {
  F square = r * r;
  return fma(r * square, polynomial(square, P::kSin), r);
}

template <class P, class F>
F cosOfRest(F r) {
  return polynomial(r * r, P::kCos);
}

/// NaN, for the infinities and NaN have no angle.
template <class P, class F>
F ofAngle(F x, F value) {
  return orNaN<P>(abs(x) < F(kInfinity<P>), value);
}

template <class P, class F>
F sin(F x) {
  auto [r, tail, quadrant] = orHuge<P>(abs(x), reduceAngle<P>(abs(x)));
  using U = decltype(quadrant);
  F value = select((quadrant & U(1u)) != U(0u), cosOfRest<P>(r), sinOfRest<P>(r));
  U sign = (bitsOf(x) ^ (quadrant << (kWidth<P> - 2))) & U(kSignBit<P>);
  return ofAngle<P>(x, floatOf(bitsOf(value) ^ sign));
}

template <class P, class F>
F cos(F x) {
  auto [r, tail, quadrant] = orHuge<P>(abs(x), reduceAngle<P>(abs(x)));
  using U = decltype(quadrant);
  F value = select((quadrant & U(1u)) != U(0u), sinOfRest<P>(r), cosOfRest<P>(r));
  U sign = ((quadrant + U(1u)) << (kWidth<P> - 2)) & U(kSignBit<P>);
  return ofAngle<P>(x, floatOf(bitsOf(value) ^ sign));
}

/// tan r in the even quadrants and -1 / tan r in the odd ones. The tails matter there, for the
/// reciprocal can double a relative error as measured in ulp.
template <class P, class F>
F tan(F x) {
  auto [r, restTail, quadrant] = orHuge<P>(abs(x), reduceAngleWithTail<P>(abs(x)));
  using U = decltype(quadrant);
  F square = r * r;
  F cubic = r * square * polynomial(square, P::kTan);
  F t = r + cubic;
  F tail = (r - t) + (cubic + restTail);
  // One step of Newton's from -1 / t to -1 / (t + tail).
  F y = F(-1) / t;
  F cotangent = fma(y, fma(y, tail, fma(y, t, F(1))), y);
  F value = select((quadrant & U(1u)) != U(0u), cotangent, t + tail);
  return ofAngle<P>(x, floatOf(bitsOf(value) ^ (bitsOf(x) & U(kSignBit<P>))));
}

} // namespace imbrex::math
