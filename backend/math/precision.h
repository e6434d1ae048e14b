#pragma once

#include "backend/math/constants.h"
#include "backend/math/native.h"

#include <cstddef>
#include <limits>

namespace imbrex::math {

// Derived from the format alone.
template <class P>
inline constexpr int kWidth = std::numeric_limits<typename P::Bits>::digits;
template <class P>
inline constexpr int kMantissaBits = std::numeric_limits<typename P::Float>::digits - 1;
template <class P>
inline constexpr int kBias = std::numeric_limits<typename P::Float>::max_exponent - 1;
template <class P>
inline constexpr typename P::Bits kSignBit = typename P::Bits{1} << (kWidth<P> - 1);
template <class P>
inline constexpr typename P::Bits kMantissaMask = (typename P::Bits{1} << kMantissaBits<P>)-1;
template <class P>
inline constexpr typename P::Float kInfinity = std::numeric_limits<typename P::Float>::infinity();
template <class P>
inline constexpr typename P::Float kNaN = std::numeric_limits<typename P::Float>::quiet_NaN();

/// 2^n, exactly.
template <class P>
constexpr typename P::Float powerOf2(int n) {
  using Bits = typename P::Bits;
  return std::bit_cast<typename P::Float>(
      static_cast<Bits>(static_cast<Bits>(n + kBias<P>) << kMantissaBits<P>));
}

/// 1.5 2^mantissaBits: the sum of this and a float of at most a quarter of its size is the float
/// rounded to an integer, whose bits are the low bits of the sum.
template <class P>
inline constexpr typename P::Float kRounder = 1.5f * powerOf2<P>(kMantissaBits<P>);

/// A word below 2^mantissaBits, less an offset, as a float: exact.
template <class P, class U>
auto toFloat(U word, typename P::Float offset = 0) {
  constexpr typename P::Float kInteger = powerOf2<P>(kMantissaBits<P>);
  auto sum = floatOf(word | U(std::bit_cast<typename P::Bits>(kInteger)));
  return sum - decltype(sum)(kInteger + offset);
}

/// A NaN that is the same bits everywhere, where `condition` does not hold.
template <class P, class B, class F>
F orNaN(B condition, F value) {
  return select(condition, value, F(kNaN<P>));
}

/// What an executor without a branch makes of `rarely`.
template <class B, class ComputeRare, class T>
T rarely(B condition, ComputeRare computeRare, T common) {
  return select(condition, computeRare(), common);
}

/// `value`, whose sign is plus or already that of x, with the sign of x.
template <class P, class F>
F withSignOf(F x, F value) {
  using U = decltype(bitsOf(x));
  return floatOf(bitsOf(value) | (bitsOf(x) & U(kSignBit<P>)));
}

/// c[0] + c[1] x + c[2] x² + ... by Horner's rule: one fma for each coefficient but the last.
template <class F, class T, std::size_t N>
F polynomial(F x, const std::array<T, N> &c) {
  F sum = c[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) sum = fma(sum, x, F(c[i]));
  return sum;
}

} // namespace imbrex::math
