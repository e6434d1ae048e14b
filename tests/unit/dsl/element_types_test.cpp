#include "backend/ir/types.h"
#include "doctest/doctest.h"
#include <imbrex/element.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {
using namespace imbrex;
using llvm::APFloat;

template <class T>
const llvm::fltSemantics &format() {
  return ir::floatFormat(*ir::elementNamed(element_name<T>));
}

/// LLVM's rounding; saturation and the NaN of a conversion are ours (docs/language.md).
template <class T>
std::uint64_t nearest_code(double x) {
  constexpr auto to = T::format;
  if (std::isnan(x)) return to.nan;
  const double largest = detail::decode(to, to.largest);
  if (to.beyond == detail::overflow::saturate && std::fabs(x) > largest)
    x = std::copysign(largest, x);
  APFloat value(x);
  bool inexact = false;
  value.convert(format<T>(), APFloat::rmNearestTiesToEven, &inexact);
  return value.bitcastToAPInt().getZExtValue();
}

/// Every code's value, the halfway points between neighbours and what is just beside them, and
/// random doubles of all magnitudes.
template <class T>
std::vector<double> interesting() {
  std::vector<double> all{0.0,
                          -0.0,
                          1e300,
                          -1e300,
                          1e-300,
                          -1e-300,
                          std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity(),
                          std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::denorm_min()};
  const unsigned codes = 1U << (1 + T::format.exponent_bits + T::format.mantissa_bits);
  for (unsigned code = 0; code < codes; ++code) {
    const double x = detail::decode(T::format, code);
    const double next = detail::decode(T::format, code + 1);
    const double half = x + (next - x) / 2;
    for (const double y : {x, half, std::nextafter(half, 1e9), std::nextafter(half, -1e9)})
      all.push_back(y);
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) all.push_back(std::bit_cast<double>(random()));
  return all;
}

template <class T>
void check_encode() {
  CAPTURE(element_name<T>);
  unsigned wrong = 0;
  for (const double x : interesting<T>())
    if (T(x).bits != nearest_code<T>(x)) ++wrong;
  CHECK(wrong == 0);
}

template <class T>
void check_decode() {
  CAPTURE(element_name<T>);
  const unsigned bits =
      1U + static_cast<unsigned>(T::format.exponent_bits + T::format.mantissa_bits);
  unsigned wrong = 0;
  for (unsigned code = 0; code < 1U << bits; ++code) {
    APFloat value(format<T>(), llvm::APInt(bits, code));
    bool inexact = false;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
    const double expected = value.convertToDouble();
    const auto got = static_cast<double>(T::from_bits(static_cast<typename T::storage>(code)));
    const bool same = std::isnan(expected) ? std::isnan(got)
                                           : std::bit_cast<std::uint64_t>(got) ==
                                                 std::bit_cast<std::uint64_t>(expected);
    if (!same) ++wrong;
  }
  CHECK(wrong == 0);
}

static_assert(f8e4m3fn(17.0).bits == 0x58 && f8e4m3fn(19.0).bits == 0x5a);
static_assert(f8e4m3fn(449.0).bits == 0x7e && f8e4m3fn(0x1p-10).bits == 0x00);
static_assert(f8e4m3fn(std::numeric_limits<double>::infinity()).bits == 0x7e);
static_assert(f16(1.0F).bits == 0x3c00 && static_cast<float>(bf16(-2)) == -2.0F);

} // namespace

TEST_CASE("every value, halfway point and its neighbours round to the code that LLVM rounds to") {
  check_encode<f16>();
  check_encode<bf16>();
  check_encode<f8e4m3fn>();
  check_encode<f8e5m2>();
  check_encode<f8e4m3fnuz>();
  check_encode<f8e5m2fnuz>();
  check_encode<f4e2m1>();
}

TEST_CASE("every code has the value that LLVM gives it") {
  check_decode<f16>();
  check_decode<bf16>();
  check_decode<f8e4m3fn>();
  check_decode<f8e5m2>();
  check_decode<f8e4m3fnuz>();
  check_decode<f8e5m2fnuz>();
  check_decode<f4e2m1>();
}

TEST_CASE("a scale is the nearest power of two, and has neither sign nor zero") {
  for (int exponent = -127; exponent <= 127; ++exponent) {
    const double power = std::ldexp(1.0, exponent);
    const auto code = static_cast<std::uint8_t>(exponent + 127);
    CHECK(e8m0(power).bits == code);
    CHECK(static_cast<double>(e8m0::from_bits(code)) == power);
    CHECK(e8m0(std::nextafter(1.5 * power, 0.0)).bits == code);
    if (exponent < 127) {
      CHECK(e8m0(1.5 * power).bits == (code % 2 == 0 ? code : code + 1));
      CHECK(e8m0(std::nextafter(1.5 * power, INFINITY)).bits == code + 1);
    }
  }
  CHECK(e8m0(0.0).bits == 0);
  CHECK(e8m0(4).bits == e8m0(4.0).bits);
  CHECK(e8m0(-0.0).bits == 0);
  CHECK(e8m0(-4.0).bits == 255);
  CHECK(e8m0(1e300).bits == 254);
  CHECK(e8m0(std::numeric_limits<double>::infinity()).bits == 254);
  CHECK(e8m0(std::numeric_limits<double>::quiet_NaN()).bits == 255);
  CHECK(std::isnan(static_cast<float>(e8m0::from_bits(255))));
}

TEST_CASE("the element types of the language are those of the IR, name by name and bit by bit") {
  const auto check = [](std::string_view name, int bits) {
    CAPTURE(name);
    const auto kind = ir::elementNamed(name);
    REQUIRE(kind.has_value());
    CHECK(ir::info(*kind).bits == bits);
  };
  std::size_t count = 0;
  [&]<class... T>(std::tuple<T...> *) {
    (check(element_name<T>, detail::element_info<T>.bits), ...);
    count = sizeof...(T);
  }(static_cast<std::tuple<bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64,
                           f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f4e2m1, e8m0> *>(nullptr));
  CHECK(count == ir::allElementKinds().size());
}
