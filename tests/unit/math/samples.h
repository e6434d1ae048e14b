#pragma once

#include "backend/math/native.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

/// Arguments at which an elementary function may go wrong.
namespace samples {

template <class Float>
std::vector<Float> specials() {
  using Limits = std::numeric_limits<Float>;
  std::vector<Float> values = {0,
                               Limits::infinity(),
                               Limits::quiet_NaN(),
                               Limits::signaling_NaN(),
                               Limits::denorm_min(),
                               Limits::min(),
                               Limits::max(),
                               Limits::epsilon()};
  // Where the results of exp, exp2, log, tanh and erf begin to be 0, subnormal, infinite or exact.
  for (double edge : {0.5,
                      0.55,
                      0.65,
                      0.70710678118654752,
                      1.0,
                      1.41421356237309505,
                      2.0,
                      3.94,
                      5.93,
                      10.0,
                      20.0,
                      87.33654475055310,
                      88.722839052068,
                      103.9720770839918,
                      126.0,
                      127.0,
                      128.0,
                      149.0,
                      150.0,
                      708.3964185322641,
                      709.782712893384,
                      745.1332191019412,
                      1022.0,
                      1024.0,
                      1074.0,
                      1075.0,
                      0x1p17,
                      0x1p22,
                      0x1p25,
                      0x1p51}) {
    const Float value = static_cast<Float>(edge);
    values.insert(values.end(),
                  {value, std::nextafter(value, Float{0}), std::nextafter(value, Limits::max())});
  }
  // The doubles closest to a multiple of pi/2 (Muller, Elementary Functions, ch. 11) among others.
  values.push_back(static_cast<Float>(6381956970095103.0 * 0x1p45));
  if constexpr (Limits::digits > 24) {
    values.push_back(6381956970095103.0 * 0x1p797);
    values.push_back(0x1.6ac5b262ca1ffp+849);
  }
  const std::size_t positive = values.size();
  for (std::size_t i = 0; i < positive; ++i) values.push_back(-values[i]);
  return values;
}

/// Of every size, of middling size, near 1, and as near to multiples of pi/2 as floats can be.
template <class Float>
Float random(std::mt19937_64 &rng) {
  using Bits = decltype(imbrex::math::bitsOf(Float{}));
  const auto bits = rng();
  const double unit = static_cast<double>(rng() >> 11) * 0x1p-53;
  switch (bits % 4) {
  case 0: return imbrex::math::floatOf(static_cast<Bits>(rng()));
  case 1: {
    const double size = std::ldexp(1 + unit, static_cast<int>(bits >> 8 & 31) - 16);
    return static_cast<Float>(bits >> 7 & 1 ? -size : size);
  }
  case 2: return static_cast<Float>(1 + std::ldexp(unit - 0.5, -static_cast<int>(bits >> 8 & 31)));
  default: break;
  }
  const auto quadrants = static_cast<long double>(rng() >> (bits >> 8 & 63));
  const auto angle = static_cast<Float>(quadrants * 1.5707963267948966192313216916L);
  return bits >> 7 & 1 ? std::nextafter(angle, Float{0}) : angle;
}

/// Whether two ways to compute a number have the same bits, or both a NaN.
template <class Float>
bool areAlike(Float x, Float y) {
  return imbrex::math::bitsOf(x) == imbrex::math::bitsOf(y) || (x != x && y != y);
}

} // namespace samples
