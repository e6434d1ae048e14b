#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// The vocabulary of backend/math, spoken by the machine's own scalars.
///
/// The function templates of this folder are written once over an abstract value type. Besides the
/// operators (+ - * / of floats; wrapping + - *, & | ^ ~ << >> of unsigned integers, amounts below
/// the width; comparisons, whose result only `select` and `rarely` take) they call nothing but what
/// stands here. A type other than a scalar, such as one that records IR, brings the same names
/// along in its own namespace, where argument-dependent lookup finds them, and is constructible
/// from the scalar that it stands for. Every operation is exactly rounded or an integer operation,
/// which is why all executors agree on the bits.
///
/// `a * b + c` means two roundings here: whatever includes this must be compiled with
/// -ffp-contract=off, as linking imbrex_math sees to.
namespace imbrex::math {

inline float fma(float a, float b, float c) { return std::fma(a, b, c); }
inline double fma(double a, double b, double c) { return std::fma(a, b, c); }
inline float sqrt(float x) { return std::sqrt(x); }
inline double sqrt(double x) { return std::sqrt(x); }
inline float abs(float x) { return std::fabs(x); }
inline double abs(double x) { return std::fabs(x); }
/// To the nearest integer, ties to even.
inline float rint(float x) { return std::nearbyint(x); }
inline double rint(double x) { return std::nearbyint(x); }

/// IEEE 754-2019 minimumNumber and maximumNumber: a NaN loses against a number, and -0 < +0.
template <class T>
T minimumNumber(T a, T b) {
  if (a == b) return std::signbit(a) ? a : b;
  return a < b || b != b ? a : b;
}
inline float min(float a, float b) { return minimumNumber(a, b); }
inline double min(double a, double b) { return minimumNumber(a, b); }
inline float max(float a, float b) { return -minimumNumber(-a, -b); }
inline double max(double a, double b) { return -minimumNumber(-a, -b); }

/// The same, but NaN where either is (IEEE 754-2019 minimum and maximum).
template <class T>
T minOrNaN(T a, T b) {
  return a != a || b != b ? a + b : min(a, b);
}
template <class T>
T maxOrNaN(T a, T b) {
  return a != a || b != b ? a + b : max(a, b);
}

inline float select(bool condition, float a, float b) { return condition ? a : b; }
inline double select(bool condition, double a, double b) { return condition ? a : b; }
inline std::uint32_t select(bool condition, std::uint32_t a, std::uint32_t b) {
  return condition ? a : b;
}
inline std::uint64_t select(bool condition, std::uint64_t a, std::uint64_t b) {
  return condition ? a : b;
}

/// select(condition, computeRare(), common). An executor may compute the rare value for all
/// elements, or branch around it where no element of the block asks for it: it has no effects.
template <class ComputeRare, class T>
T rarely(bool condition, ComputeRare computeRare, T common) {
  return condition ? computeRare() : common;
}

inline std::uint32_t bitsOf(float x) { return std::bit_cast<std::uint32_t>(x); }
inline std::uint64_t bitsOf(double x) { return std::bit_cast<std::uint64_t>(x); }
inline float floatOf(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline double floatOf(std::uint64_t bits) { return std::bit_cast<double>(bits); }

/// To nearest even, and exactly.
inline float toF32(double x) { return static_cast<float>(x); }
inline double toF64(float x) { return static_cast<double>(x); }

/// The high half of the product.
inline std::uint32_t umulhi(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32);
}

} // namespace imbrex::math
