#pragma once

#include "backend/math/precision.h"

/// Argument reduction for sin, cos and tan: x = (4 m + quadrant) pi/2 + rest, where |rest| <= pi/4
/// (a hair more may be), for x >= 0. The way depends on the size of x:
///   - Cody and Waite: n pi/2 is subtracted in three parts by fma. The first difference is exact,
///   so
///     that no cancellation can hurt.
///   - Payne and Hanek: x is an integer of 24 or 53 bits times a power of 2, so that in the product
///     with 2/pi the leading bits of 2/pi contribute multiples of 4 and the trailing ones nothing
///     that matters. Three words between them make a fixed-point product modulo 4: two bits of
///     quadrant, and a fraction long enough for the worst cancellation (about 2^-30 in f32 and
///     2^-62 in f64).
namespace imbrex::math {

template <class F, class U>
struct Reduced {
  F rest, tail; // rest + tail is the better value; the tail is free where it is not used
  U quadrant;   // in the low two bits
};

template <class B, class F, class U>
Reduced<F, U> select(B condition, const Reduced<F, U> &a, const Reduced<F, U> &b) {
  return {select(condition, a.rest, b.rest), select(condition, a.tail, b.tail),
          select(condition, a.quadrant, b.quadrant)};
}

/// For x below 2^kHugeAngleExponent; no tail.
template <class P, class F>
auto reduceAngle(F x) {
  using U = decltype(bitsOf(x));
  F shifted = fma(x, F(P::kTwoOverPi), F(kRounder<P>));
  F n = shifted - F(kRounder<P>);
  F rest = fma(n, F(-P::kHalfPi[0]), x);
  rest = fma(n, F(-P::kHalfPi[1]), rest);
  rest = fma(n, F(-P::kHalfPi[2]), rest);
  return Reduced<F, U>{rest, F(0), bitsOf(shifted)};
}

/// The same with the tail.
template <class P, class F>
auto reduceAngleWithTail(F x) {
  using U = decltype(bitsOf(x));
  F shifted = fma(x, F(P::kTwoOverPi), F(kRounder<P>));
  F n = shifted - F(kRounder<P>);
  F first = fma(n, F(-P::kHalfPi[0]), x);
  // first - n kHalfPi[1] as the sum of second and error: one of them is small enough beside the
  // other for Dekker's fast two-sum, or the sum is exact.
  F product = n * F(P::kHalfPi[1]);
  F second = first - product;
  F error = (first - second) - product;
  F low = fma(n, F(-P::kHalfPi[1]), product) - n * F(P::kHalfPi[2]) + error;
  F rest = second + low;
  return Reduced<F, U>{rest, (second - rest) + low, bitsOf(shifted)};
}

/// The fraction of 2/pi in binary, most significant bits first.
inline constexpr std::array<std::uint64_t, 19> kTwoOverPiBits = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

/// N words of 2/pi that begin with `zeros` zero bits.
template <class Word, std::size_t N>
constexpr std::array<Word, N> twoOverPiAfter(std::size_t zeros) {
  constexpr std::size_t kBits = std::numeric_limits<Word>::digits;
  std::array<Word, N> words{};
  for (std::size_t bit = zeros; bit < N * kBits; ++bit) {
    const std::size_t source = bit - zeros;
    const std::uint64_t value = kTwoOverPiBits[source / 64] >> (63 - source % 64) & 1;
    words[bit / kBits] |= static_cast<Word>(value << (kBits - 1 - bit % kBits));
  }
  return words;
}

/// words[index], ..., words[index + Count - 1], by one row of selects for each bit of the index.
template <std::size_t Count, class U, class Word, std::size_t N>
std::array<U, Count> wordsFrom(const std::array<Word, N> &words, U index) {
  std::array<U, N> chosen;
  for (std::size_t i = 0; i < N; ++i) chosen[i] = U(words[i]);
  for (std::size_t step = (N - Count + 1) / 2; step > 0; step /= 2) {
    auto skip = (index & U(static_cast<Word>(step))) != U(Word{0});
    for (std::size_t i = 0; i < Count + step - 1; ++i)
      chosen[i] = select(skip, chosen[i + step], chosen[i]);
  }
  std::array<U, Count> result;
  for (std::size_t i = 0; i < Count; ++i) result[i] = chosen[i];
  return result;
}

/// The high word of the product of two words.
template <class P, class U>
U mulHigh(U a, U b) {
  if constexpr (kWidth<P> == 32) {
    return umulhi(a, b);
  } else {
    const U low32 = U(0xffffffffu);
    U cross = (a >> 32) * (b & low32) + (((a & low32) * (b & low32)) >> 32);
    U other = (a & low32) * (b >> 32) + (cross & low32);
    return (a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32);
  }
}

/// For x from 2^kHugeAngleExponent to infinity, whose result is arbitrary.
template <class P, class F>
auto reduceHugeAngle(F x) {
  using Bits = typename P::Bits;
  using U = decltype(bitsOf(x));
  constexpr int W = kWidth<P>, M = kMantissaBits<P>;

  // x = significand 2^(exponent - M). The window begins with the bit of 2/pi whose weight in the
  // product is 2, bit number exponent - M - 1 after the point, which is at `position` in the words.
  U bits = bitsOf(x);
  U significand = (bits & U(kMantissaMask<P>)) | U(kMantissaMask<P> + 1);
  U position = (bits >> M) - U(static_cast<Bits>(kBias<P> + P::kHugeAngleExponent));
  constexpr std::size_t kZeros = M + 2 - P::kHugeAngleExponent;
  constexpr std::size_t kWords =
      W == 32 ? 7 : 19; // a power of 2 of positions, and three words more
  auto words = wordsFrom<4>(twoOverPiAfter<Bits, kWords>(kZeros), position >> (W == 32 ? 5 : 6));
  U shift = position & U(Bits{W - 1});
  auto window = [&](std::size_t i) {
    return (words[i] << shift) | ((words[i + 1] >> 1) >> (U(Bits{W - 1}) - shift));
  };

  // high:low = x 2/pi modulo 4 in units of 2^(2 - 2 W).
  U middle = significand * window(1);
  U low = middle + mulHigh<P>(significand, window(2));
  U carry = select(low < middle, U(Bits{1}), U(Bits{0}));
  U high = significand * window(0) + mulHigh<P>(significand, window(1)) + carry;
  U quadrant = (high + U(kSignBit<P> >> 2)) >> (W - 2);
  // The rest is signed; its magnitude (but for one unit) in three pieces that are exact floats.
  U sign = (high << 2) & U(kSignBit<P>);
  U flip = select(sign != U(Bits{0}), U(~Bits{0}), U(Bits{0}));
  U upper = ((high << 2) | (low >> (W - 2))) ^ flip, lower = (low << 2) ^ flip;
  constexpr int kLast = 2 * (W - M); // bits in the third piece
  F a = toFloat<P>(upper >> (W - M));
  F b = toFloat<P>(((upper << (2 * M - W)) & U(kMantissaMask<P>)) | (lower >> kLast));
  F c = toFloat<P>(lower & U((Bits{1} << kLast) - 1));
  constexpr auto kA = P::kHalfPi[0] * powerOf2<P>(-M), kATail = P::kHalfPi[1] * powerOf2<P>(-M);
  constexpr auto kB = kA * powerOf2<P>(-M), kC = P::kHalfPi[0] * powerOf2<P>(-2 * W);
  F small = fma(a, F(kATail), fma(b, F(kB), c * F(kC)));
  F rest = fma(a, F(kA), small);
  F tail = fma(a, F(kA), -rest) + small;
  return Reduced<F, U>{floatOf(bitsOf(rest) ^ sign), floatOf(bitsOf(tail) ^ sign), quadrant};
}

} // namespace imbrex::math
