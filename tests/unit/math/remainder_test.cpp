#include "backend/math/remainder.h"
#include "tests/unit/math/samples.h"
#include "tests/unit/math/traced.h"

#include <doctest/doctest.h>

using namespace imbrex;
using math::bitsOf;
using math::Double;
using math::floatOf;
using math::Single;

namespace {

/// std::fmod is exact, so that every bit must agree; but its NaN may be any.
template <class P>
void checkRemainder(typename P::Float x, typename P::Float y) {
  const auto exact = std::fmod(x, y);
  const auto expected = std::isnan(exact) ? math::kNaN<P> : exact;
  CAPTURE(x);
  CAPTURE(y);
  REQUIRE(bitsOf(math::fmod<P>(x, y)) == bitsOf(expected));
}

template <class P>
void checkRandomRemainders(int count) {
  using Float = typename P::Float;
  using Bits = typename P::Bits;
  std::mt19937_64 rng(1);
  for (int i = 0; i < count; ++i) {
    const auto x = floatOf(static_cast<Bits>(rng())), y = floatOf(static_cast<Bits>(rng()));
    checkRemainder<P>(x, y);
    // A divisor that is subnormal, down to a few bits, or of the dividend's size.
    const Bits mantissa = math::kMantissaMask<P> >> rng() % math::kMantissaBits<P>;
    const Float subnormal = floatOf(static_cast<Bits>(bitsOf(y) & (math::kSignBit<P> | mantissa)));
    checkRemainder<P>(x, subnormal);
    checkRemainder<P>(floatOf(static_cast<Bits>(bitsOf(x) & (math::kSignBit<P> | mantissa))),
                      subnormal);
    checkRemainder<P>(x, static_cast<Float>(x / static_cast<Float>(1 + rng() % 100)));
    // Multiples and their neighbours, where one unit in the quotient is the difference.
    const Float multiple = std::ldexp(y, static_cast<int>(rng() % math::kMantissaBits<P>));
    checkRemainder<P>(multiple, y);
    checkRemainder<P>(std::nextafter(multiple, Float{0}), y);
    checkRemainder<P>(y * static_cast<Float>(rng() % 1000), y);
  }
}

} // namespace

TEST_CASE("fmod is exact") {
  checkRandomRemainders<Single>(200000);
  checkRandomRemainders<Double>(40000);
  CHECK(math::fmod<Single>(1e20f, 3.0f) == 2.0f);
}

TEST_CASE("fmod is exact at special values") {
  for (float x : samples::specials<float>())
    for (float y : samples::specials<float>()) checkRemainder<Single>(x, y);
  for (double x : samples::specials<double>())
    for (double y : samples::specials<double>()) checkRemainder<Double>(x, y);
}

TEST_CASE("fmod gives a value type that records the same bits, with and without branches") {
  std::mt19937_64 rng(2);
  for (int i = 0; i < 4000; ++i) {
    const auto x = floatOf(rng()), y = floatOf(rng());
    const auto high = floatOf(static_cast<std::uint32_t>(rng()));
    const auto low = floatOf(static_cast<std::uint32_t>(rng()));
    for (bool straightLine : {false, true}) {
      traced::straightLine = straightLine;
      const auto f64 = math::fmod<Double>(traced::F64(x), traced::F64(y));
      const auto f32 = math::fmod<Single>(traced::F32(high), traced::F32(low));
      REQUIRE(bitsOf(f64).value == bitsOf(math::fmod<Double>(x, y)));
      REQUIRE(bitsOf(f32).value == bitsOf(math::fmod<Single>(high, low)));
    }
  }
  traced::straightLine = false;
}
