#pragma once

#include "backend/math/native.h"

#include <algorithm>
#include <cmath>
#include <limits>

/// What a function's result is measured against: the C library's in a wider format.
namespace reference {

using std::cos;
using std::erf;
using std::exp;
using std::exp2;
using std::expm1;
using std::log;
using std::log1p;
using std::log2;
using std::sin;
using std::tan;
using std::tanh;

template <class Wide>
Wide rsqrt(Wide x) {
  return 1 / std::sqrt(x);
}

/// The error of `value` in units of the last place that a correctly rounded result would have; 1e9
/// for a wrong special value or a wrong sign (of 0 too). All NaNs are alike (docs/semantics.md).
template <class Float, class Wide>
double ulps(Float value, Wide exact) {
  using Limits = std::numeric_limits<Float>;
  constexpr double kWrong = 1e9;
  if (std::isnan(exact)) return std::isnan(value) ? 0 : kWrong;
  if (std::isnan(value) || std::signbit(value) != std::signbit(exact)) return kWrong;
  // Infinity counts as the power of 2 after the largest number.
  const Wide beyond = std::ldexp(Wide{1}, Limits::max_exponent);
  const Wide magnitude = std::min(std::fabs(exact), beyond);
  const Wide result = std::isinf(value) ? beyond : static_cast<Wide>(std::fabs(value));
  int exponent = magnitude == 0 ? Limits::min_exponent : std::ilogb(magnitude) + 1;
  exponent = std::clamp(exponent, Limits::min_exponent, Limits::max_exponent);
  return static_cast<double>(std::ldexp(std::fabs(result - magnitude), Limits::digits - exponent));
}

} // namespace reference
