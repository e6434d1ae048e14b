#include "backend/interpret/scalar.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

using namespace imbrex;
using interpret::convert;
using ir::ElementKind;
using ir::Rounding;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::uint64_t f64(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint64_t f32(float value) { return std::bit_cast<std::uint32_t>(value); }

/// A small format as the text of docs/semantics.md describes it, written apart from the
/// interpreter.
struct Format {
  ElementKind kind;
  int exponentBits, mantissaBits, bias;
  enum Specials { Ieee, OneNan, NegativeZeroIsNan, None } specials;

  double value(std::uint64_t code) const {
    const int mantissa = static_cast<int>(code & ((1u << mantissaBits) - 1));
    const int exponent = static_cast<int>(code >> mantissaBits & ((1u << exponentBits) - 1));
    const bool negative = code >> (mantissaBits + exponentBits) & 1;
    const bool allOnes = exponent == (1 << exponentBits) - 1;
    if (specials == Ieee && allOnes) return mantissa ? kNan : negative ? -kInfinity : kInfinity;
    if (specials == OneNan && allOnes && mantissa == (1 << mantissaBits) - 1) return kNan;
    if (specials == NegativeZeroIsNan && negative && exponent == 0 && mantissa == 0) return kNan;
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissaBits)
                      : std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits);
    return negative ? -magnitude : magnitude;
  }
  std::uint64_t codes() const { return 1u << (1 + exponentBits + mantissaBits); }
};

constexpr Format kE4M3FN = {ElementKind::F8E4M3FN, 4, 3, 7, Format::OneNan};
constexpr Format kE5M2 = {ElementKind::F8E5M2, 5, 2, 15, Format::Ieee};
constexpr Format kE4M3FNUZ = {ElementKind::F8E4M3FNUZ, 4, 3, 8, Format::NegativeZeroIsNan};
constexpr Format kE5M2FNUZ = {ElementKind::F8E5M2FNUZ, 5, 2, 16, Format::NegativeZeroIsNan};
constexpr Format kE2M1 = {ElementKind::F4E2M1, 2, 1, 1, Format::None};
constexpr Format kNarrow[] = {kE4M3FN, kE5M2, kE4M3FNUZ, kE5M2FNUZ, kE2M1};
constexpr Format kF16 = {ElementKind::F16, 5, 10, 15, Format::Ieee};
constexpr Format kBF16 = {ElementKind::BF16, 8, 7, 127, Format::Ieee};

bool sameNumber(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == f64(b);
}

/// The narrow float's code for a number, by trying all: the nearest, of two the one with the even
/// code; or the largest that is not beyond.
std::uint64_t bestCode(const Format &format, double x, Rounding rounding) {
  if (std::isnan(x)) return interpret::nanBits(format.kind);
  const std::uint64_t signBit = format.codes() / 2;
  std::uint64_t best = 0;
  double bestDistance = kInfinity;
  for (std::uint64_t code = 0; code < signBit; ++code) {
    const double value = format.value(code), magnitude = std::fabs(x);
    if (!std::isfinite(value)) continue;
    if (rounding == Rounding::TowardZero && value > magnitude) continue;
    const double distance = std::isinf(x) ? -value : std::fabs(value - magnitude);
    if (distance < bestDistance || (distance == bestDistance && code % 2 == 0)) {
      best = code;
      bestDistance = distance;
    }
  }
  const bool negativeZeroIsNan = format.specials == Format::NegativeZeroIsNan;
  if (!std::signbit(x) || (best == 0 && negativeZeroIsNan)) return best;
  return best | signBit;
}

} // namespace

TEST_CASE("every code of a small float is its number in f64, and f32 says the same") {
  for (const Format &format : {kE4M3FN, kE5M2, kE4M3FNUZ, kE5M2FNUZ, kE2M1, kF16, kBF16}) {
    for (std::uint64_t code = 0; code < format.codes(); ++code) {
      CAPTURE(ir::info(format.kind).name);
      CAPTURE(code);
      const double expected = format.value(code);
      REQUIRE(sameNumber(interpret::toDouble(code, format.kind), expected));
      const auto single = static_cast<std::uint32_t>(convert(code, format.kind, ElementKind::F32));
      REQUIRE(sameNumber(std::bit_cast<float>(single), expected));
    }
  }
}

TEST_CASE("every f16 becomes the nearest code of each narrow float, and the one toward zero") {
  for (const Format &format : kNarrow) {
    for (const Rounding rounding : {Rounding::NearestEven, Rounding::TowardZero}) {
      for (std::uint64_t code = 0; code < kF16.codes(); ++code) {
        CAPTURE(ir::info(format.kind).name);
        CAPTURE(code);
        REQUIRE(convert(code, ElementKind::F16, format.kind, rounding) ==
                bestCode(format, kF16.value(code), rounding));
      }
    }
  }
}

TEST_CASE("a narrow float comes back from f32, f16 and f64 unchanged, NaN as the canonical one") {
  for (const Format &format : kNarrow) {
    for (const ElementKind wide : {ElementKind::F16, ElementKind::F32, ElementKind::F64}) {
      for (std::uint64_t code = 0; code < format.codes(); ++code) {
        const double value = format.value(code);
        const bool isInfinity = std::isinf(value);
        const std::uint64_t back = convert(convert(code, format.kind, wide), wide, format.kind);
        CAPTURE(code);
        if (std::isnan(value))
          CHECK(back == interpret::nanBits(format.kind));
        else if (isInfinity)
          CHECK(back == bestCode(format, value, Rounding::NearestEven));
        else
          CHECK(back == code);
      }
    }
  }
}

TEST_CASE("e8m0 code x is 2 to the x - 127, and 0xff is NaN") {
  for (std::uint64_t code = 0; code < 255; ++code) {
    CHECK(interpret::toDouble(code, ElementKind::E8M0) ==
          std::ldexp(1.0, static_cast<int>(code) - 127));
    const std::uint64_t single = convert(code, ElementKind::E8M0, ElementKind::F32);
    CHECK(convert(single, ElementKind::F32, ElementKind::E8M0) == code);
  }
  CHECK(std::isnan(interpret::toDouble(0xff, ElementKind::E8M0)));
}

TEST_CASE(
    "a number becomes the nearest scale, half way the even code; below the lowest is the lowest") {
  const auto scale = [](double x, Rounding rounding = Rounding::NearestEven) {
    return convert(f64(x), ElementKind::F64, ElementKind::E8M0, rounding);
  };
  CHECK(scale(1.0) == 127);
  CHECK(scale(1.4999) == 127);
  CHECK(scale(1.5) == 128);
  CHECK(scale(3) == 128);
  CHECK(scale(3.0001) == 129);
  CHECK(scale(6) == 130);
  CHECK(scale(0x1.8p-127) == 0);
  CHECK(scale(0x1.8001p-127) == 1);
  CHECK(scale(1.9, Rounding::TowardZero) == 127);
  CHECK(scale(0.0) == 0);
  CHECK(scale(-0.0) == 0);
  CHECK(scale(-8.0) == 255);
  CHECK(scale(-0x1p-200) == 255);
  CHECK(scale(std::ldexp(1.0, -200)) == 0);
  CHECK(scale(std::ldexp(1.0, 127)) == 254);
  CHECK(scale(std::ldexp(1.75, 127)) == 254);
  CHECK(scale(1e300) == 254);
  CHECK(scale(kInfinity) == 254);
  CHECK(scale(-kInfinity) == 255);
  CHECK(scale(kNan) == 255);
}

TEST_CASE("the numbers of the recipes") {
  const auto e4m3 = [](double x) {
    return convert(f64(x), ElementKind::F64, ElementKind::F8E4M3FN);
  };
  CHECK(e4m3(17) == 0x58);
  CHECK(e4m3(19) == 0x5a);
  CHECK(e4m3(448) == 0x7e);
  CHECK(e4m3(449) == 0x7e);
  CHECK(e4m3(kInfinity) == 0x7e);
  CHECK(e4m3(-kInfinity) == 0xfe);
  CHECK(e4m3(0x1p-10) == 0x00);
  CHECK(convert(f32(300), ElementKind::F32, ElementKind::I8) == 127);
  CHECK(convert(f32(-300), ElementKind::F32, ElementKind::I8) == 0x80);
  CHECK(convert(f64(kNan), ElementKind::F64, ElementKind::I8) == 0);
  CHECK(convert(f32(-1), ElementKind::F32, ElementKind::U8) == 0);
  CHECK(convert(f32(-0.9f), ElementKind::F32, ElementKind::I32) == 0);
  CHECK(convert(f64(kNan), ElementKind::F64, ElementKind::Bool) == 1);
  CHECK(convert(f64(-0.0), ElementKind::F64, ElementKind::Bool) == 0);
  CHECK(convert(f64(0.25), ElementKind::F64, ElementKind::Bool) == 1);
  CHECK(convert(f64(1e300), ElementKind::F64, ElementKind::U64) == ~std::uint64_t{0});
  CHECK(convert(f64(-1e300), ElementKind::F64, ElementKind::I64) == std::uint64_t{1} << 63);
}

TEST_CASE("a NaN becomes the canonical NaN of the format it goes to") {
  for (const auto &[to, bits] :
       std::vector<std::pair<ElementKind, std::uint64_t>>{{ElementKind::F16, 0x7e00},
                                                          {ElementKind::BF16, 0x7fc0},
                                                          {ElementKind::F32, 0x7fc00000},
                                                          {ElementKind::F8E4M3FN, 0x7f},
                                                          {ElementKind::F8E5M2, 0x7e},
                                                          {ElementKind::F8E4M3FNUZ, 0x80},
                                                          {ElementKind::F8E5M2FNUZ, 0x80},
                                                          {ElementKind::F4E2M1, 0x7},
                                                          {ElementKind::E8M0, 0xff}}) {
    CAPTURE(ir::info(to).name);
    CHECK(convert(0xfff8'0000'0000'1234, ElementKind::F64, to) == bits);
    CHECK(convert(0x7ff0'0000'0000'0001, ElementKind::F64, to) == bits);
  }
}

TEST_CASE("integers round once into floats, and wrap into narrower integers") {
  const std::uint64_t big = (std::uint64_t{1} << 53) + 1;
  CHECK(convert(big, ElementKind::I64, ElementKind::F64) == f64(0x1p53));
  CHECK(convert(big + 2, ElementKind::I64, ElementKind::F64) == f64(0x1p53 + 4));
  CHECK(convert(big + 2, ElementKind::I64, ElementKind::F64, Rounding::TowardZero) ==
        f64(0x1p53 + 2));
  CHECK(convert(~std::uint64_t{0}, ElementKind::U64, ElementKind::F32) == f32(0x1p64f));
  CHECK(convert(~std::uint64_t{0}, ElementKind::U64, ElementKind::F32, Rounding::TowardZero) ==
        f32(0x1.fffffep63f));
  CHECK(convert(~std::uint64_t{0}, ElementKind::I64, ElementKind::F32) == f32(-1));
  // 2^24 + 2^12 + 1 is above the middle of two bf16; f32 would lose the 1 and make it a tie.
  CHECK(convert((1u << 24) + (1u << 16) + 1, ElementKind::I32, ElementKind::BF16) == 0x4b81);
  CHECK(convert(65520, ElementKind::I32, ElementKind::F16) == 0x7c00);
  CHECK(convert(65520, ElementKind::I32, ElementKind::F16, Rounding::TowardZero) == 0x7bff);
  CHECK(convert(0x1234, ElementKind::I16, ElementKind::I8) == 0x34);
  CHECK(convert(0xff, ElementKind::I8, ElementKind::I32) == 0xffffffff);
  CHECK(convert(0xff, ElementKind::U8, ElementKind::I32) == 0xff);
  CHECK(convert(1, ElementKind::Bool, ElementKind::I8) == 1);
  CHECK(convert(1, ElementKind::Bool, ElementKind::F16) == 0x3c00);
  CHECK(convert(0x80, ElementKind::I8, ElementKind::Bool) == 1);
  CHECK(convert(1000, ElementKind::I32, ElementKind::F4E2M1) == 0x7);
}

TEST_CASE("wide floats overflow to infinity, or toward zero to the largest") {
  CHECK(convert(f32(65520), ElementKind::F32, ElementKind::F16) == 0x7c00);
  CHECK(convert(f32(-65520), ElementKind::F32, ElementKind::F16, Rounding::TowardZero) == 0xfbff);
  CHECK(convert(f64(1e300), ElementKind::F64, ElementKind::F32) == 0x7f800000);
  CHECK(convert(f64(1e300), ElementKind::F64, ElementKind::F32, Rounding::TowardZero) ==
        0x7f7fffff);
  CHECK(convert(f64(kInfinity), ElementKind::F64, ElementKind::F16, Rounding::TowardZero) ==
        0x7c00);
  // An f32 between two f16 that f64 -> f32 -> f16 would round twice.
  CHECK(convert(f64(1 + 0x1p-11 + 0x1p-40), ElementKind::F64, ElementKind::F16) == 0x3c01);
}
