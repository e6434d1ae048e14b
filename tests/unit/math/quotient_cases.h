#pragma once

#include "backend/math/quotient.h"
#include "tests/unit/math/samples.h"

#include <algorithm>
#include <random>

/// Quotients by one divisor against the machine's division.
namespace quotients {

using namespace imbrex;

struct Tried {
  std::int64_t count = 0, wrong = 0;
  void see(bool isRight) {
    ++count;
    wrong += isRight ? 0 : 1;
  }
};

/// What machines have for a near reciprocal in f64, as far off as it may be: the upper or the lower
/// of the numbers with 14 bits behind the point next to it.
inline double wideSeed(float b, bool isUpper) {
  constexpr int kKept = 14, kDropped = 52 - kKept;
  const std::uint64_t bits = math::bitsOf(1 / math::toF64(b)) >> kDropped;
  const bool isFinite = b != 0 && math::abs(b) < math::kInfinity<math::Single>;
  return math::floatOf((bits + (isUpper && isFinite ? 1 : 0)) << kDropped);
}
inline float wideQuotientOf(float a, float b, bool fromUpper) {
  return math::quotientIn<float>(math::wideDivisor(wideSeed(b, fromUpper), math::toF64(b)), a);
}

/// As code does it: in the range by the reciprocal, elsewhere in f64.
inline float quotientOf(float a, float b) {
  const std::uint32_t bits = math::bitsOf(b);
  const bool isInRange =
      math::isTameDivisor(bits) &&
      math::areLargeEnough(math::sizeOfDividend(math::bitsOf(a), math::allowanceForZero(bits))) &&
      math::areSmallEnough(math::abs(a));
  if (!isInRange) return wideQuotientOf(a, b, (math::bitsOf(a) & 1) != 0);
  return math::quotientBy(math::reciprocalFrom(1 / b, b), a, b);
}

/// The inverse modulo 2^32 of an odd number.
inline std::uint32_t inverseOf(std::uint32_t odd) {
  std::uint32_t x = odd; // right in 3 bits, and in twice as many after each step
  for (int bits = 3; bits < 32; bits *= 2) x *= 2 - odd * x;
  return x;
}

/// All dividends of 24 bits whose quotients by the divisor `odd`, of `width` bits, are nearest to
/// the middle between two floats: a 2^s = m odd + k, with m of 25 bits and odd, and |k| at most
/// `nearest`.
inline void forHardDividends(std::uint32_t odd, int width, int nearest, auto each) {
  const std::uint32_t inverse = inverseOf(odd);
  for (int shift = width; shift <= width + 1; ++shift)
    for (int k = -nearest | 1; k <= nearest; k += 2) {
      const std::uint64_t period = std::uint64_t{1} << shift;
      const std::uint64_t first = static_cast<std::uint32_t>(-k) * inverse & (period - 1);
      for (std::uint64_t m = first; m < 1U << 25; m += period) {
        if (m < 1U << 24) continue;
        const std::uint64_t a = (m * odd + static_cast<std::uint64_t>(std::int64_t{k})) >> shift;
        if (a >= 1U << 23 && a < 1U << 24) each(static_cast<float>(a));
      }
    }
}

/// With a reciprocal of the divisor.
inline void tryHardCases(std::uint32_t odd, int width, float reciprocal, int nearest,
                         Tried &tried) {
  const auto b = static_cast<float>(odd);
  forHardDividends(odd, width, nearest, [&](float dividend) {
    tried.see(math::quotientBy(reciprocal, dividend, b) == dividend / b);
  });
}

/// How far a quotient may be from the middle between two floats to go wrong, in units of the last
/// place of (25 bits of a quotient) · (`width` bits of a divisor): the remainder q b - a is rounded
/// at most by half such a unit, and 1 / b by a 2^-24th part of the remainder, which is less than 3
/// units.
inline int nearestOf(int width) { return std::max(1, 9 >> (24 - width)); }

/// With the reciprocal that is rounded correctly.
inline void tryHardCases(std::uint32_t odd, int width, Tried &tried) {
  const auto b = static_cast<float>(odd);
  if (math::isTameDivisor(math::bitsOf(b)))
    tryHardCases(odd, width, 1 / b, nearestOf(width), tried);
}

/// All reciprocals that are made from seeds up to 4 ulp off, but not rounded correctly, of divisors
/// with 24 bits of this or that kind.
inline Tried tryOtherReciprocals(bool ofTame) {
  Tried tried;
  for (std::uint32_t bits = 0x3f800000; bits < 0x40000000; ++bits) {
    const float b = math::floatOf(bits);
    if (math::isTameDivisor(bits) != ofTame) continue;
    const std::uint32_t exact = math::bitsOf(1 / b);
    for (std::uint32_t off = 0; off <= 8; ++off) {
      const float reciprocal = math::reciprocalFrom(math::floatOf(exact + off - 4), b);
      if (reciprocal == 1 / b) continue;
      const std::uint32_t significand = (bits & 0x7fffff) | 0x800000;
      const int zeros = std::countr_zero(significand);
      tryHardCases(significand >> zeros, 24 - zeros, std::ldexp(reciprocal, zeros - 23),
                   nearestOf(24 - zeros), tried);
    }
  }
  return tried;
}

inline Tried tryAtRandom(std::int64_t pairs, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  Tried tried;
  while (tried.count < pairs) {
    const std::uint64_t bits = rng();
    const float a = math::floatOf(static_cast<std::uint32_t>(bits));
    float b = math::floatOf(static_cast<std::uint32_t>(bits >> 32));
    // Every other divisor in the range, where most of all floats are not.
    const auto exponent = static_cast<std::uint32_t>(127 - 24 + (bits >> 55) % 48);
    if (tried.count % 2 == 0) b = math::floatOf((math::bitsOf(b) & 0x807fffff) | exponent << 23);
    tried.see(samples::areAlike(quotientOf(a, b), a / b));
  }
  return tried;
}

/// Zeros, infinities, NaN, subnormal numbers and the ends of the ranges, with their neighbours.
inline Tried tryEdges() {
  std::vector<float> edges = samples::specials<float>();
  for (const float end : {0x1p-24F, 0x1p24F, 0x1p-100F, 0x1p100F, 0x1p-126F, 0x1p-149F, 6.0F, 1.0F,
                          3.0F, 0x1.fffffep0F, 0x1.fffffep127F})
    for (std::uint32_t off = 0; off <= 4; ++off)
      for (const float sign : {1.0F, -1.0F})
        edges.push_back(sign * math::floatOf(math::bitsOf(end) + off - (end < 0x1p-140F ? 0 : 2)));
  // Of subnormal quotients some are exactly in the middle.
  for (std::uint32_t bits = 1; bits < 64; ++bits) edges.push_back(math::floatOf(bits));
  Tried tried;
  for (const float a : edges)
    for (const float b : edges) {
      tried.see(samples::areAlike(quotientOf(a, b), a / b));
      for (const bool isUpper : {false, true})
        tried.see(samples::areAlike(wideQuotientOf(a, b, isUpper), a / b));
    }
  return tried;
}

} // namespace quotients
