#pragma once

#include "backend/math/precision.h"

namespace imbrex::math {

/// 1 / sqrt(x), whose two roundings one step of Newton's corrects: y + y e / 2, e = 1 - x y² to
/// twice the precision. No intermediate result can underflow where x is subnormal.
template <class P, class F>
F rsqrt(F x) {
  F y = F(1) / sqrt(x);
  F root = x * y;
  F e = fma(-fma(x, y, -root), y, fma(-root, y, F(1)));
  F corrected = fma(y * F(0.5f), e, y);
  // Of 0 and infinity there is nothing to correct: e is NaN.
  return orNaN<P>(y == y, select(e == e, corrected, y));
}

} // namespace imbrex::math
