#pragma once

#include "backend/math/exponential.h"

namespace imbrex::math {

/// x - trunc(x / y) y, exactly: long division of the significands in base 2^kDigit.
///
/// With x = X 2^(d + e) and y = Y 2^e, X and Y integers below 2^(M + 1), the result is (X 2^d mod
/// Y) 2^e. A digit's step takes r to r 2^kDigit - q Y with q = rint(r 2^kDigit / Y), by a product
/// with 1 / Y. The quotient's relative error is at most 2^-M, so that |r| <= b Y gives |q Y - r
/// 2^kDigit| <= (1/2 + b 2^(kDigit - M)) Y: with kDigit = M - 2 this holds at b = 2/3 for ever. All
/// of it is integers below 2^(M + 1) times a power of 2, which makes each fma exact.
template <class P>
inline constexpr int kDigit = kMantissaBits<P> - 2;

/// A finite magnitude as significand 2^exponent with the smallest exponent of its binade.
template <class F, class U>
struct Scaled {
  F significand; // an integer
  U exponent;    // biased: that of the float's bits, but 1 for a subnormal
};

template <class P, class F>
auto scaled(F magnitude) {
  using Bits = typename P::Bits;
  using U = decltype(bitsOf(magnitude));
  constexpr typename P::Float kInteger = powerOf2<P>(kMantissaBits<P>);
  U bits = bitsOf(magnitude);
  F hidden = floatOf((bits & U(kMantissaMask<P>)) | U(std::bit_cast<Bits>(kInteger)));
  auto subnormal = magnitude < F(powerOf2<P>(1 - kBias<P>));
  return Scaled<F, U>{hidden - select(subnormal, F(kInteger), F(0)),
                      select(subnormal, U(Bits{1}), bits >> kMantissaBits<P>)};
}

template <class P, class F>
F fmod(F x, F y) {
  using Bits = typename P::Bits;
  auto [dividend, highExponent] = scaled<P>(abs(x));
  auto [divisor, lowExponent] = scaled<P>(abs(y));
  using U = decltype(highExponent);
  F inverse = F(1) / divisor;
  auto reduced = [&](F r) { return fma(-rint(r * inverse), divisor, r); };

  // d = digits kDigit + rest, by a multiplication that is exact for every d.
  constexpr int kSteps = (2 * kBias<P> - 1) / kDigit<P>;
  constexpr Bits kInverseDigit = 65536 / kDigit<P> + 1;
  auto less = abs(x) < abs(y);
  U d = select(less, U(Bits{0}), highExponent - lowExponent);
  U digits = (d * U(kInverseDigit)) >> 16;
  U rest = d - digits * U(static_cast<Bits>(kDigit<P>));
  F r = reduced(reduced(dividend) * floatOf((rest + U(Bits{kBias<P>})) << kMantissaBits<P>));
  // Where there are digits, and sometimes where there are none: by numbers that are there anyway.
  r = rarely(
      abs(x) >= abs(y) * F(powerOf2<P>(kDigit<P> - 1)),
      [&] {
        F remainder = r;
        for (Bits step = 0; step < kSteps; ++step)
          remainder =
              reduced(remainder * select(digits > U(step), F(powerOf2<P>(kDigit<P>)), F(1)));
        return remainder;
      },
      r);

  F magnitude = select(r < F(0), r + divisor, r);
  constexpr Bits kToExponent =
      kBias<P> - kMantissaBits<P>; // of the significand's last bit, + 2 bias
  F result = scaledByPowerOf2<P>(magnitude, lowExponent + U(kToExponent));
  U sign = bitsOf(x) & U(kSignBit<P>);
  result = select(less, x, floatOf(bitsOf(result) | sign));
  return orNaN<P>(abs(x) < F(kInfinity<P>), orNaN<P>(abs(y) > F(0), result));
}

} // namespace imbrex::math
