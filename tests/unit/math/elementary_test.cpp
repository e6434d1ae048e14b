#include "backend/math/elementary.h"
#include "tests/unit/math/reference.h"
#include "tests/unit/math/samples.h"
#include "tests/unit/math/traced.h"

#include <doctest/doctest.h>

#include <cfenv>
#include <limits>
#include <string>

using namespace imbrex;
using math::Double;
using math::Single;

namespace {

struct Worst {
  double ulps = 0, at = 0;

  template <class Float, class Wide>
  void see(Float x, Float value, Wide exact) {
    const double error = reference::ulps(value, exact);
    if (error > ulps) ulps = error, at = static_cast<double>(x);
  }
};

/// FNV-1a, of which all NaNs are alike.
template <class Float>
std::uint64_t mixed(std::uint64_t hash, Float value) {
  const Float alike = std::isnan(value) ? std::numeric_limits<Float>::quiet_NaN() : value;
  return (hash ^ math::bitsOf(alike)) * 0x100000001b3;
}

struct Function {
  std::string name;
  float (*ofFloat)(float);
  double (*ofDouble)(double);
  traced::F32 (*ofTracedF32)(traced::F32);
  traced::F64 (*ofTracedF64)(traced::F64);
  double (*exactFloat)(double);
  long double (*exactDouble)(long double);
  double floatUlps, doubleUlps;
  int floatOperations, doubleOperations;
};

const Function kFunctions[] = {
#define IMBREX_ELEMENTARY(name, ulps32, ulps64, operations32, operations64)                        \
  {#name,                                                                                          \
   math::name<Single>,                                                                             \
   math::name<Double>,                                                                             \
   math::name<Single>,                                                                             \
   math::name<Double>,                                                                             \
   [](double x) { return reference::name(x); },                                                    \
   [](long double x) { return reference::name(x); },                                               \
   ulps32,                                                                                         \
   ulps64,                                                                                         \
   operations32,                                                                                   \
   operations64},
#include "backend/math/elementary.def"
};

} // namespace

TEST_CASE("an f32 function keeps its bound on floats of every size") {
  constexpr std::uint32_t kStride = 2039; // a prime, so that all low bits occur
  for (const Function &function : kFunctions) {
    CAPTURE(function.name);
    Worst worst;
    auto see = [&](float x) { worst.see(x, function.ofFloat(x), function.exactFloat(x)); };
    for (std::uint64_t bits = 0; bits <= 0xffffffff; bits += kStride)
      see(math::floatOf(static_cast<std::uint32_t>(bits)));
    CAPTURE(worst.at);
    CHECK(worst.ulps <= function.floatUlps);
  }
}

TEST_CASE("an f32 function keeps its bound at special values and near multiples of pi/2") {
  for (const Function &function : kFunctions) {
    CAPTURE(function.name);
    Worst worst;
    auto see = [&](float x) { worst.see(x, function.ofFloat(x), function.exactFloat(x)); };
    for (float x : samples::specials<float>()) see(x);
    std::mt19937_64 rng(1);
    for (int i = 0; i < 100000; ++i) see(samples::random<float>(rng));
    CAPTURE(worst.at);
    CHECK(worst.ulps <= function.floatUlps);
  }
}

TEST_CASE("an f64 function keeps its bound" *
          doctest::skip(std::numeric_limits<long double>::digits <= 53)) {
  for (const Function &function : kFunctions) {
    CAPTURE(function.name);
    Worst worst;
    auto see = [&](double x) { worst.see(x, function.ofDouble(x), function.exactDouble(x)); };
    for (double x : samples::specials<double>()) see(x);
    std::mt19937_64 rng(1);
    for (int i = 0; i < 100000; ++i) see(samples::random<double>(rng));
    CAPTURE(worst.at);
    CHECK(worst.ulps <= function.doubleUlps);
  }
}

TEST_CASE("the exponential of what is never positive has the same bits by fewer operations") {
  constexpr std::uint32_t kStride = 1021; // a prime, so that all low bits occur
  std::int64_t differing = 0;
  const auto see = [&]<class P>(P, auto x) {
    const auto y = -std::fabs(x);
    differing += samples::areAlike(math::expOfNonePositive<P>(y), math::exp<P>(y)) ? 0 : 1;
  };
  for (std::uint64_t bits = 0; bits <= 0x7fffffff; bits += kStride)
    see(Single{}, math::floatOf(static_cast<std::uint32_t>(bits)));
  for (float x : samples::specials<float>()) see(Single{}, x);
  for (double x : samples::specials<double>()) see(Double{}, x);
  std::mt19937_64 rng(1);
  for (int i = 0; i < 1000000; ++i) see(Double{}, samples::random<double>(rng));
  // Where the result is subnormal, the last product rounds.
  for (int i = 0; i < 1000000; ++i)
    see(Double{}, -708 - std::ldexp(static_cast<double>(rng() >> 11), -53) * 40);
  CHECK(differing == 0);
}

TEST_CASE(
    "the exponentials of what is far below all others are 0 without an underflow on the way") {
  // Which takes 150 cycles: what is masked by such a number would be slower than all else.
  const auto underflows = []<class P>(P, auto x) {
    const volatile auto asked = static_cast<typename P::Float>(x); // at run time
    std::feclearexcept(FE_ALL_EXCEPT);
    const volatile auto sum =
        math::exp<P>(asked + 0) + math::expOfNonePositive<P>(asked + 0) + math::exp2<P>(asked + 0);
    const bool isFlagged = std::fetestexcept(FE_UNDERFLOW) != 0;
    CHECK(sum == 0);
    return isFlagged;
  };
  // exp2 has the lowest bound.
  for (const double x : {-254.0, -1e30, -std::numeric_limits<double>::infinity()})
    CHECK_FALSE(underflows(Single{}, x));
  for (const double x : {-2046.0, -1e30, -std::numeric_limits<double>::infinity()})
    CHECK_FALSE(underflows(Double{}, x));
  CHECK(underflows(Single{}, -160)); // as what is not so far below does
}

TEST_CASE("a value type that records gets the same bits, with and without branches") {
  for (const Function &function : kFunctions) {
    CAPTURE(function.name);
    std::mt19937_64 rng(2);
    for (int i = 0; i < 4000; ++i) {
      const auto x = samples::random<float>(rng);
      const auto y = samples::random<double>(rng);
      for (bool straightLine : {false, true}) {
        traced::straightLine = straightLine;
        CAPTURE(x);
        CAPTURE(y);
        REQUIRE(math::bitsOf(function.ofFloat(x)) == bitsOf(function.ofTracedF32(x)).value);
        REQUIRE(math::bitsOf(function.ofDouble(y)) == bitsOf(function.ofTracedF64(y)).value);
      }
    }
    traced::straightLine = false;
  }
}

TEST_CASE("a function costs as many operations as its row says") {
  for (const Function &function : kFunctions) {
    CAPTURE(function.name);
    traced::operations = 0;
    function.ofTracedF32(1.0f);
    CHECK(traced::operations == function.floatOperations);
    traced::operations = 0;
    function.ofTracedF64(1.0);
    CHECK(traced::operations == function.doubleOperations);
  }
}

TEST_CASE("compilers and machines agree on every bit") {
  // Changes with a coefficient; changes without one where a product and a sum were contracted.
  std::uint64_t hash = 0xcbf29ce484222325;
  std::mt19937_64 rng(3);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t any = rng();
    const double unit = math::floatOf((any >> 12) | math::bitsOf(1.0));
    const double middling = std::ldexp(unit, static_cast<int>(any & 15) - 10);
    for (const Function &function : kFunctions) {
      for (double x : {math::floatOf(any), middling, -middling})
        hash = mixed(hash, function.ofDouble(x));
      for (float x : {math::floatOf(static_cast<std::uint32_t>(any)), math::toF32(middling)})
        hash = mixed(hash, function.ofFloat(x));
    }
  }
  CHECK(hash == 0x86401f339868b750);
}
