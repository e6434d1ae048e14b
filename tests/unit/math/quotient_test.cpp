#include "tests/unit/math/quotient_cases.h"

#include <doctest/doctest.h>

using namespace imbrex;

// All of these are tried whole by tests/exhaustive/quotient.cpp.

TEST_CASE("two steps from a seed 4 ulp off give the rounded reciprocal of every significand") {
  constexpr std::uint32_t kStride = 61;
  for (std::uint32_t bits = 0x3f800000; bits < 0x40000000; bits += kStride) {
    CAPTURE(bits);
    REQUIRE(quotients::wrongReciprocalsOf(math::floatOf(bits)) == 0);
  }
  CHECK(!math::isTameDivisor(math::bitsOf(0x1.fffffep0F)));
  CHECK(math::isTameDivisor(math::bitsOf(0x1.fffffcp0F)));
}

TEST_CASE("quotients nearest to the middle between two floats are rounded as the machine does") {
  quotients::Tried tried;
  constexpr int kBits = 24, kNearest = 9, kStride = 254; // even, for divisors are odd
  for (std::uint32_t odd = (1U << (kBits - 1)) | 1; odd < 1U << kBits; odd += kStride)
    quotients::tryHardCases(odd, kBits, kNearest, tried);
  CHECK(tried.count > 100000);
  CHECK(tried.wrong == 0);
}

TEST_CASE("quotients of any floats are those of the machine's division") {
  CHECK(quotients::tryAtRandom(1000000, 1).wrong == 0);
  CHECK(quotients::tryEdges().wrong == 0);
}
