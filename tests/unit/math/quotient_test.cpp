#include "tests/unit/math/quotient_cases.h"

#include <doctest/doctest.h>

using namespace imbrex;

// All of these are tried whole by tests/exhaustive/quotient.cpp.

TEST_CASE("a step from a seed 4 ulp off gives a reciprocal that divides") {
  const quotients::Tried tame = quotients::tryOtherReciprocals(true);
  CHECK(tame.count > 1000);
  CHECK(tame.wrong == 0);
  // Without the wild ones quotients would be wrong.
  CHECK(quotients::tryOtherReciprocals(false).wrong > 0);
}

TEST_CASE("the sixteen largest significands are wild") {
  CHECK(math::isTameDivisor(math::bitsOf(0x1.ffffdep0F)));
  for (std::uint32_t bits = 0x3ffffff0; bits < 0x40000000; ++bits) {
    CAPTURE(bits);
    CHECK(!math::isTameDivisor(bits));
    CHECK(!math::isTameDivisor(bits | 0x80000000));
  }
  CHECK(math::isTameDivisor(math::bitsOf(2.0F)));
}

TEST_CASE("quotients nearest to the middle between two floats are rounded as the machine does") {
  quotients::Tried tried;
  constexpr int kBits = 24, kStride = 254; // even, for divisors are odd
  for (std::uint32_t odd = (1U << (kBits - 1)) | 1; odd < 1U << kBits; odd += kStride)
    quotients::tryHardCases(odd, kBits, tried);
  CHECK(tried.count > 100000);
  CHECK(tried.wrong == 0);
}

TEST_CASE("quotients of any floats are those of the machine's division") {
  CHECK(quotients::tryAtRandom(1000000, 1).wrong == 0);
  CHECK(quotients::tryEdges().wrong == 0);
}
