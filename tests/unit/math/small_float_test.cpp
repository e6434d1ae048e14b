#include "backend/math/small_float.h"

#include <doctest/doctest.h>
#include <llvm/ADT/APFloat.h>

#include <random>

using namespace imbrex::math;
using llvm::APFloat;

namespace {

template <SmallFormat format>
constexpr int kCodeBits =
    format.exponentBits + format.mantissaBits + (format.specials == Specials::PowerOf2 ? 0 : 1);

template <SmallFormat format>
constexpr std::uint32_t kCodes = 1u << kCodeBits<format>;

template <Rounding R>
constexpr auto kLlvmRounding =
    R == Rounding::NearestEven ? APFloat::rmNearestTiesToEven : APFloat::rmTowardZero;

std::uint32_t codeOf(const APFloat &value) {
  return static_cast<std::uint32_t>(value.bitcastToAPInt().getZExtValue());
}

/// What LLVM converts to, with our decisions where it makes others: saturation, one NaN, e8m0's
/// ties and its values below its range.
template <SmallFormat format, Rounding R, class Float>
std::uint32_t expectedCode(Float x, const llvm::fltSemantics &semantics) {
  if (std::isnan(x)) return nanCode(format);
  if (format.specials == Specials::PowerOf2) {
    if (x < 0) return nanCode(format);
    if (x < std::ldexp(Float{1}, -format.bias)) return 0;
  }
  APFloat value(x);
  bool inexact = false;
  value.convert(semantics, kLlvmRounding<R>, &inexact);
  // Of a tie, LLVM takes the larger power of 2; we take the even code, as of any other tie.
  int exponent = 0;
  const bool isTie = std::frexp(x, &exponent) == Float{0.75};
  if (format.specials == Specials::PowerOf2 && R == Rounding::NearestEven && isTie)
    return codeOf(value) - codeOf(value) % 2;
  if (format.saturates && (std::isinf(x) || !value.isFinite()))
    return largestCode(format) | (std::signbit(x) ? kCodes<format> / 2 : 0);
  return codeOf(value);
}

template <SmallFormat format, Rounding R>
void checkEncode(float x, const llvm::fltSemantics &semantics) {
  CAPTURE(x);
  REQUIRE(encode<format, R>(bitsOf(x)) == expectedCode<format, R>(x, semantics));
}

template <SmallFormat format, Rounding R>
void checkEncode(double x, const llvm::fltSemantics &semantics) {
  CAPTURE(x);
  REQUIRE(encode<format, R>(bitsOf(roundedToOdd(x))) == expectedCode<format, R>(x, semantics));
}

template <SmallFormat format, class Float>
void checkBothRoundings(Float x, const llvm::fltSemantics &semantics) {
  checkEncode<format, Rounding::NearestEven>(x, semantics);
  checkEncode<format, Rounding::TowardZero>(x, semantics);
}

/// A number that the format holds, the tie above it, and the neighbours of both.
template <SmallFormat format, class Float>
void checkAround(std::uint32_t code, const llvm::fltSemantics &semantics) {
  constexpr Float kInfinity = std::numeric_limits<Float>::infinity();
  const Float low = static_cast<Float>(floatOf(decode<format>(code)));
  const Float high = static_cast<Float>(floatOf(decode<format>((code + 1) % kCodes<format>)));
  for (Float x : {low, low + (high - low) / 2}) {
    checkBothRoundings<format>(x, semantics);
    checkBothRoundings<format>(std::nextafter(x, -kInfinity), semantics);
    checkBothRoundings<format>(std::nextafter(x, kInfinity), semantics);
  }
}

template <SmallFormat format>
void checkFormat(const llvm::fltSemantics &semantics) {
  for (std::uint32_t code = 0; code < kCodes<format>; ++code) {
    CAPTURE(code);
    APFloat value(semantics, llvm::APInt(kCodeBits<format>, code));
    const bool isNaN = value.isNaN();
    bool inexact = false;
    value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &inexact);
    REQUIRE(decode<format>(code) == (isNaN ? kF32NaN : codeOf(value)));
    if (isNaN)
      REQUIRE(encode<format>(decode<format>(code)) == nanCode(format));
    else if (!(format.saturates && value.isInfinity()))
      REQUIRE(encode<format>(decode<format>(code)) == code);
    checkAround<format, float>(code, semantics);
    checkAround<format, double>(code, semantics);
  }
  std::mt19937_64 rng(1);
  for (std::uint32_t high = 0; high < 1u << 16; ++high) // every exponent, with random low bits
    checkBothRoundings<format>(floatOf(high << 16 | static_cast<std::uint32_t>(rng() >> 48)),
                               semantics);
  for (int i = 0; i < 50000; ++i) checkBothRoundings<format>(floatOf(rng()), semantics);
  for (std::uint32_t bits : {0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu, 0xffc00000u})
    CHECK(encode<format>(bits) == nanCode(format));
}

} // namespace

TEST_CASE("conversions to and from the small formats agree with LLVM's") {
  SUBCASE("f16") { checkFormat<kF16>(APFloat::IEEEhalf()); }
  SUBCASE("bf16") { checkFormat<kBF16>(APFloat::BFloat()); }
  SUBCASE("f8e4m3fn") { checkFormat<kF8E4M3FN>(APFloat::Float8E4M3FN()); }
  SUBCASE("f8e5m2") { checkFormat<kF8E5M2>(APFloat::Float8E5M2()); }
  SUBCASE("f8e4m3fnuz") { checkFormat<kF8E4M3FNUZ>(APFloat::Float8E4M3FNUZ()); }
  SUBCASE("f8e5m2fnuz") { checkFormat<kF8E5M2FNUZ>(APFloat::Float8E5M2FNUZ()); }
  SUBCASE("f4e2m1") { checkFormat<kF4E2M1>(APFloat::Float4E2M1FN()); }
  SUBCASE("e8m0") { checkFormat<kE8M0>(APFloat::Float8E8M0FNU()); }
}

TEST_CASE("an f16 becomes an fp8 straight from its value") {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    CAPTURE(code);
    const float x = floatOf(decode<kF16>(code));
    checkBothRoundings<kF8E4M3FN>(x, APFloat::Float8E4M3FN());
    checkBothRoundings<kF8E5M2>(x, APFloat::Float8E5M2());
    checkBothRoundings<kF8E4M3FNUZ>(x, APFloat::Float8E4M3FNUZ());
    checkBothRoundings<kF8E5M2FNUZ>(x, APFloat::Float8E5M2FNUZ());
  }
}

TEST_CASE("the formats' edges are those of their definitions") {
  const auto f32 = [](auto code) { return floatOf(static_cast<std::uint32_t>(code)); };
  CHECK(f32(decode<kF8E4M3FN>(0x7eu)) == 448.0f);
  CHECK(f32(decode<kF8E5M2>(0x7bu)) == 57344.0f);
  CHECK(f32(decode<kF8E4M3FNUZ>(0x7fu)) == 240.0f);
  CHECK(f32(decode<kF8E5M2FNUZ>(0x7fu)) == 57344.0f);
  CHECK(f32(decode<kE8M0>(0u)) == 0x1p-127f);
  constexpr float kE2M1[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (std::uint32_t code = 0; code < 8; ++code) CHECK(f32(decode<kF4E2M1>(code)) == kE2M1[code]);

  CHECK(encode<kF8E4M3FN>(bitsOf(17.0f)) == 0x58);
  CHECK(encode<kF8E4M3FN>(bitsOf(19.0f)) == 0x5a);
  CHECK(encode<kF8E4M3FN>(bitsOf(449.0f)) == 0x7e);
  CHECK(encode<kF8E4M3FN>(bitsOf(std::numeric_limits<float>::infinity())) == 0x7e);
  CHECK(encode<kF8E4M3FN>(bitsOf(0x1p-10f)) == 0x00);
  CHECK(encode<kF8E4M3FNUZ>(bitsOf(-0.0f)) == 0x00);
  CHECK(encode<kF8E5M2>(kF32NaN) == 0x7e);
  CHECK(encode<kF4E2M1>(kF32NaN) == 0x7);
  CHECK(encode<kE8M0>(bitsOf(3.0f)) == 128); // halfway from 2 (128) to 4 (129)
  CHECK(encode<kE8M0>(bitsOf(6.0f)) == 130);
  CHECK(encode<kE8M0>(bitsOf(std::nextafter(6.0f, 0.0f))) == 129);
  CHECK(encode<kE8M0>(bitsOf(-0.0f)) == 0);
  CHECK(encode<kE8M0>(bitsOf(-1.0f)) == 0xff);
}

TEST_CASE("rounding to odd keeps what a second rounding needs to know") {
  CHECK(roundedToOdd(1.0) == 1.0f);
  CHECK(roundedToOdd(1.0 + 0x1p-40) == 1.0f + 0x1p-23f);
  CHECK(roundedToOdd(1.0 - 0x1p-40) == 1.0f - 0x1p-24f);
  CHECK(roundedToOdd(-1e300) == -std::numeric_limits<float>::max());
  CHECK(roundedToOdd(-1e-300) == -std::numeric_limits<float>::denorm_min());
  CHECK(std::isnan(roundedToOdd(std::numeric_limits<double>::quiet_NaN())));
  // 1 + 2^-11 is halfway between two numbers of f16: a little more must round up.
  CHECK(encode<kF16>(bitsOf(roundedToOdd(1.0 + 0x1p-11 + 0x1p-50))) == 0x3c01);
  CHECK(encode<kF16>(bitsOf(static_cast<float>(1.0 + 0x1p-11 + 0x1p-50))) == 0x3c00); // twice
}
