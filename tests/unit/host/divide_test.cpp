#include "tests/support/parsed_kernel.h"
#include "tests/unit/host/launching.h"
#include "tests/unit/math/quotient_cases.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace imbrex::host {
namespace {

constexpr std::int64_t kDivided = 1000; // vectors, and a rest

/// Rows divided by a number each.
const ir::Kernel &rowsByOne() {
  static const ir::Kernel kernel = testing::parsedKernel(
      "kernel @k(%x: view<const f32, 2>, %y: view<const f32, 2>, %z: view<f32, 2>) stage tiles {\n"
      "  %row = program_id : i32\n  %0 = constant 0 : i32\n"
      "  %a = view.load %x, %row, %0 : f32[1x1000]\n  %b = view.load %y, %row, %0 : f32[1x1]\n"
      "  %c = broadcast %b : f32[1x1000]\n  %d = div %a, %c : f32[1x1000]\n"
      "  view.store %z, %d, %row, %0\n}\n");
  return kernel;
}

float withExponent(std::uint32_t bits, int exponent) {
  return std::bit_cast<float>((bits & 0x807fffffU) | static_cast<std::uint32_t>(exponent + 127)
                                                         << 23);
}

/// With all bits of the mantissa, about 2^exponent.
float about(std::mt19937 &random, int exponent) {
  return withExponent(static_cast<std::uint32_t>(random()), exponent);
}

bool isSame(float x, float y) {
  return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) || (x != x && y != y);
}

/// Each row of x divided by its y, on this processor, is what IEEE 754 says.
void compare(std::vector<float> x, std::vector<float> y) {
  const auto rows = std::ssize(y);
  std::vector<float> z(x.size());
  launch(rowsByOne(), {.extents = {static_cast<std::int32_t>(rows), 1, 1}},
         {viewOf(x, {rows, kDivided}), viewOf(y, {rows, 1}), viewOf(z, {rows, kDivided})});
  std::int64_t others = 0;
  for (std::int64_t i = 0; i < std::ssize(x); ++i) {
    const auto at = static_cast<size_t>(i);
    const volatile float expected = x[at] / y[static_cast<size_t>(i / kDivided)];
    others += isSame(z[at], expected) ? 0 : 1;
  }
  CHECK(others == 0);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const std::vector<float> kEdges{0.0F,
                                -0.0F,
                                1e-45F,
                                -1e-45F,
                                1.1754942e-38F, // the largest subnormal number
                                1.17549435e-38F,
                                0x1p-101F,
                                0x1p-100F,
                                -0x1.fffffep-101F,
                                0x1p-21F,
                                0x1p-20F,
                                0x1.fffffep-21F,
                                1.0F,
                                0x1.fffffep0F,
                                -0x1p20F,
                                0x1.000002p20F,
                                0x1p21F,
                                0x1p100F,
                                -0x1.fffffep100F,
                                0x1p101F,
                                std::numeric_limits<float>::max(),
                                kInfinity,
                                -kInfinity,
                                std::numeric_limits<float>::quiet_NaN(),
                                std::bit_cast<float>(0xffffffffU)};

} // namespace

TEST_CASE("quotients next to the middle between two numbers are rounded once") {
  std::mt19937 random(3);
  std::vector<float> x, y;
  for (int row = 0; row < 400; ++row) {
    const std::uint32_t divisor = 0x800001 | static_cast<std::uint32_t>(random() & 0x7fffff);
    std::vector<float> hard;
    quotients::forHardDividends(divisor, 24, quotients::nearestOf(24),
                                [&](float dividend) { hard.push_back(dividend); });
    const int moved = static_cast<int>(random() % 40) - 20;
    y.push_back(std::ldexp(static_cast<float>(divisor), moved - 23));
    for (std::size_t i = 0; i < kDivided; ++i) x.push_back(hard[i % hard.size()]);
  }
  compare(x, y);
}

TEST_CASE("quotients by one number are rounded once") {
  std::mt19937 random(1);
  std::vector<float> x, y;
  for (int row = 0; row < 400; ++row) {
    y.push_back(about(random, static_cast<int>(random() % 40) - 20));
    const int exponent = static_cast<int>(random() % 200) - 100;
    for (std::int64_t i = 0; i < kDivided; ++i)
      x.push_back(row % 4 == 0 && i % 3 == 0 ? 0.0F : about(random, exponent));
  }
  compare(x, y);
}

TEST_CASE("quotients of any numbers by any other are rounded once") {
  std::mt19937 random(2);
  const auto edge = [&] { return kEdges[random() % kEdges.size()]; };
  std::vector<float> x, y;
  for (const float divisor : kEdges)
    for (const float dividend : kEdges) { // all of a vector, and among others
      y.insert(y.end(), 2, divisor);
      x.insert(x.end(), kDivided, dividend);
      for (std::int64_t i = 0; i < kDivided; ++i) x.push_back(i % 16 == 5 ? edge() : dividend);
    }
  for (int row = 0; row < 200; ++row) { // results that are subnormal, and ties of them
    y.push_back(row % 2 == 0 ? 2.0F : about(random, static_cast<int>(random() % 250) - 125));
    for (std::int64_t i = 0; i < kDivided; ++i) x.push_back(about(random, -126 + row % 30));
  }
  compare(x, y);
}

TEST_CASE("whole vectors are multiplied by the divisor's reciprocal where division makes halves") {
  const auto multiplies = [](const ir::Kernel &kernel, bool dividesInHalves) {
    const VectorUnit unit{.bits = 512, .registers = 32, .dividesInHalves = dividesInHalves};
    return llvm::StringRef(codeOf(kernel, unit)).count("\nmultiply");
  };
  // A vector a trip, with boxes inside their views and at the edge.
  CHECK(multiplies(rowsByOne(), true) == 2);
  CHECK(multiplies(rowsByOne(), false) == 0);
  const auto each = [](const std::string &divisor) {
    return testing::parsedKernel("kernel @k(%x: view<const f32, 1>, %z: view<f32, 1>) stage tiles "
                                 "{\n  %0 = constant 0 : i32\n"
                                 "  %a = view.load %x, %0 : f32[64]\n" +
                                 divisor +
                                 "  %d = div %a, %c : f32[64]\n  view.store %z, %d, %0\n}\n");
  };
  CHECK(multiplies(each("  %c = flip %a [axis = 0] : f32[64]\n"), true) == 0);
  // Another number for each vector.
  CHECK(multiplies(each("  %i = arange : i32[4]\n  %f = cast %i : f32[4]\n"
                        "  %g = reshape %f : f32[4x1]\n  %h = broadcast %g : f32[4x16]\n"
                        "  %c = reshape %h : f32[64]\n"),
                   true) == 0);
}

} // namespace imbrex::host
