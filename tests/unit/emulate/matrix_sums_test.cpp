// How matrix instructions add up, in numbers.

#include "backend/emulate/model/exact_sum.h"
#include "backend/emulate/model/matrix_sums.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string_view>
#include <vector>

using namespace imbrex;
using emulate::exactSum;
using emulate::MatrixSums;
using emulate::Numerics;
using machine::MatrixElement;
using machine::MmaInstruction;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const MmaInstruction &rowOf(std::string_view machine, std::string_view intrinsic) {
  for (const MmaInstruction *x : machine::mmaInstructionsOf(*machine::findMachine(machine)))
    if (x->intrinsic == intrinsic) return *x;
  FAIL("there is no such row");
  return machine::allMmaInstructions().front();
}

/// Of products with 1.
double sumOf(const MatrixSums &sums, const MmaInstruction &x, std::vector<double> terms, double c) {
  terms.resize(static_cast<std::size_t>(x.k));
  return sums.sum(terms, std::vector<double>(terms.size(), 1.0), c);
}

double sumOf(const MmaInstruction &x, const std::vector<double> &terms, double c = 0,
             Numerics numerics = Numerics::Exact, std::uint64_t seed = 0) {
  return sumOf(MatrixSums(x, {numerics, seed}), x, terms, c);
}

/// All that comes out under some seeds.
std::set<double> adversarialSums(const MmaInstruction &x, const std::vector<double> &terms,
                                 double c = 0) {
  std::set<double> sums;
  for (std::uint64_t seed = 0; seed < 30; ++seed)
    sums.insert(sumOf(x, terms, c, Numerics::Adversarial, seed));
  return sums;
}

} // namespace

TEST_CASE("a sum is exact whatever cancels") {
  CHECK(exactSum({0x1p250, 1, -0x1p250}) == 1);
  CHECK(exactSum({0x1p250, 0x1p-300, 3, -0x1p250, -3}) == 0x1p-300);
  CHECK(exactSum({-0x1p-320}) == -0x1p-320);
  std::mt19937_64 random(5);
  for (int i = 0; i < 500; ++i) {
    CAPTURE(i);
    std::vector<double> terms;
    for (int j = 0; j < 20; ++j) {
      const auto bits = static_cast<double>(static_cast<std::int64_t>(random() >> 11));
      const double term = std::ldexp(bits, static_cast<int>(random() % 400) - 250);
      terms.push_back(term);
      terms.push_back(-term);
    }
    const double rest = std::ldexp(1.0 + static_cast<double>(random() % 100), -100);
    terms.push_back(rest);
    std::ranges::shuffle(terms, random);
    CHECK(exactSum(terms) == rest);
  }
}

TEST_CASE("a sum that no double is has its last bit set, toward zero") {
  CHECK(exactSum({0x1p60, 1}) == 0x1p60 + 0x1p8);
  CHECK(exactSum({-0x1p60, -1}) == -0x1p60 - 0x1p8);
  CHECK(exactSum({0x1p60, -1}) == 0x1p60 - 0x1p7);
  CHECK(exactSum({0x1p250, 0x1p-300}) == std::nextafter(0x1p250, kInfinity));
  // The double below is odd already.
  const double odd = std::nextafter(0x1p60, kInfinity);
  CHECK(exactSum({odd, 1}) == odd);
}

TEST_CASE("zeros and what is no number are added as IEEE 754 has it") {
  CHECK(std::signbit(exactSum({-0.0, -0.0})));
  CHECK_FALSE(std::signbit(exactSum({-0.0, 0.0})));
  CHECK_FALSE(std::signbit(exactSum({1.0, -1.0})));
  CHECK(exactSum({1.0, kInfinity, 0x1p250}) == kInfinity);
  CHECK(std::isnan(exactSum({kInfinity, -kInfinity})));
  CHECK(std::isnan(exactSum({1.0, std::nan("")})));
}

TEST_CASE("sums are rounded once to their type, and overflow to infinity") {
  const MmaInstruction &f32 = rowOf("sm_80", "nvvm.mma.m16n8k8.row.col.f32.f32");
  // Rounding the first two would give 1 + 2^-23, and then with the third 1 + 2^-22.
  CHECK(sumOf(f32, {1, 0x1.8p-24, 0x1p-25}) == 1 + 0x1p-23);
  CHECK(sumOf(f32, {1, 0x1p-24}) == 1);
  CHECK(sumOf(f32, {1, 0x1p-24, 0x1p-40}) == 1 + 0x1p-23);
  const MmaInstruction &f16 = rowOf("sm_80", "nvvm.mma.m16n8k8.row.col.f16.f16");
  CHECK(sumOf(f16, {1, 0x1p-11}) == 1);
  CHECK(sumOf(f16, {1, 0x1p-11, 0x1p-24}) == 1 + 0x1p-10);
  CHECK(sumOf(f16, {60000, 5519}) == 65504);
  CHECK(sumOf(f16, {60000, 5520}) == kInfinity);
  CHECK(sumOf(f16, {0x1p-24, 0x1p-25}) == 0x1p-23);
  for (const Numerics numerics : {Numerics::Exact, Numerics::Adversarial})
    for (const MmaInstruction *x : {&f32, &f16}) {
      CHECK(sumOf(*x, {kInfinity, -1}, 7, numerics) == kInfinity);
      CHECK(std::isnan(sumOf(*x, {kInfinity, -kInfinity}, 0, numerics)));
      CHECK(std::isnan(sumOf(*x, {1}, std::nan(""), numerics)));
      CHECK(sumOf(*x, {60000, 60000, 60000}, 0, numerics) == (x == &f16 ? kInfinity : 180000));
    }
}

TEST_CASE("sums of integers wrap around") {
  const MmaInstruction &x = rowOf("sm_80", "nvvm.mma.m16n8k32.row.col.u8");
  CHECK(sumOf(x, {1, 2}, 2147483647) == -2147483646);
  CHECK(sumOf(x, {1}, 2147483647, Numerics::Adversarial) == -2147483648.0);
}

TEST_CASE("f64 takes an fma for each k") {
  const MmaInstruction &x = rowOf("sm_80", "nvvm.mma.m8n8k4.row.col.f64");
  const MatrixSums sums(x, {});
  const double third = 1.0 / 3, product = third * third;
  CHECK(sums.sum({third, 0, 0, 0}, {third, 0, 0, 0}, -product) == std::fma(third, third, -product));
}

TEST_CASE("units that align cut off what is far below the largest term") {
  const MmaInstruction &x = rowOf("sm_80", "nvvm.mma.m16n8k8.row.col.f32.f32");
  REQUIRE(x.sumRules.fractionBits == 24);
  const std::vector<double> terms{1, 0x1p-25, 0x1p-25, 0x1p-25, 0x1p-25, 0x1p-25, 0x1p-25};
  CHECK(sumOf(x, terms) == 1 + 0x1p-22);
  CHECK(adversarialSums(x, terms) == std::set<double>{1});
  CHECK(adversarialSums(x, {0x1p-25, 0x1p-25}, 1) == std::set<double>{1});
  // Of what is kept, the last bit is rounded or cut.
  CHECK(adversarialSums(x, {1, 0x1p-23, 0x1p-24}) == std::set<double>{1 + 0x1p-23, 1 + 0x1p-22});
  // Groups of terms are aligned by themselves.
  const MmaInstruction &deep = rowOf("sm_80", "nvvm.mma.m16n8k16.row.col.f32.f32");
  REQUIRE(deep.sumRules.terms == 8);
  std::vector<double> twice{1, -1};
  twice.resize(16, 0x1p-25);
  const std::set<double> sums = adversarialSums(deep, twice);
  CHECK(sums.size() > 1);
  CHECK(*sums.rbegin() <= 14 * 0x1p-25);
  CHECK(*sums.begin() >= -1);
}

TEST_CASE("units that keep 13 bits leave no more") {
  const MmaInstruction &x = rowOf("sm_89", "nvvm.mma.m16n8k32.row.col.f32.e4m3.e4m3.f32");
  CHECK(adversarialSums(x, {1, 0x1p-13}) == std::set<double>{1 + 0x1p-13});
  CHECK(adversarialSums(x, {1, 0x1.8p-13}) == std::set<double>{1 + 0x1p-13});
  // The sum has one more bit in front.
  CHECK(adversarialSums(x, {1.5, 0.5, 0x1p-13}) == std::set<double>{2});
}

TEST_CASE("units that chain or add pairs round each time") {
  const MmaInstruction &chained = rowOf("gfx90a", "amdgcn.mfma.f32.16x16x4f32");
  CHECK(sumOf(chained, {0x1p-24, 0x1p-24}, 1) == 1 + 0x1p-23);
  CHECK(adversarialSums(chained, {0x1p-24, 0x1p-24}, 1) == std::set<double>{1});
  const MmaInstruction &pairs = rowOf("gfx90a", "amdgcn.mfma.f32.16x16x16f16");
  REQUIRE(pairs.sumRules.terms == 4);
  CHECK(sumOf(pairs, {0x1p-24, 0x1p-24}, 1) == 1 + 0x1p-23);
  const std::set<double> sums = adversarialSums(pairs, {0x1p-24, 0x1p-24}, 1);
  CHECK(sums == std::set<double>{1, 1 + 0x1p-23}); // with each other first, or not
}

TEST_CASE("units that flush take subnormals for zeros, and leave none") {
  const MmaInstruction &flushing = rowOf("gfx90a", "amdgcn.mfma.f32.16x16x16f16");
  const MmaInstruction &other = rowOf("gfx942", "amdgcn.mfma.f32.16x16x16f16");
  for (const auto &[x, flushes] : {std::pair(&flushing, true), {&other, false}}) {
    const MatrixSums bad(*x, {Numerics::Adversarial, 1}), exact(*x, {});
    CHECK(bad.taken(MatrixElement::F16, 0x83ff) == (flushes ? 0 : -0x1.ff8p-15));
    CHECK(std::signbit(bad.taken(MatrixElement::F16, 0x83ff)));
    CHECK(bad.taken(MatrixElement::F16, 0x0400) == 0x1p-14);
    CHECK(bad.taken(MatrixElement::F32, 0x00700000) == (flushes ? 0 : 0x1.cp-127));
    CHECK(exact.taken(MatrixElement::F16, 0x83ff) == -0x1.ff8p-15);
    CHECK(sumOf(bad, *x, {0x1p-126, -0x1p-127}, 0) == (flushes ? 0 : 0x1p-127));
  }
}

TEST_CASE("operands of tf32 lose 13 bits, cut or rounded") {
  const MmaInstruction &x = rowOf("sm_80", "nvvm.mma.m16n8k8.row.col.tf32");
  const auto all = [&](std::uint32_t bits) {
    std::set<double> numbers;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      numbers.insert(MatrixSums(x, {Numerics::Adversarial, seed}).taken(MatrixElement::Tf32, bits));
    return numbers;
  };
  const MatrixSums exact(x, {});
  CHECK(exact.taken(MatrixElement::Tf32, 0x3f801fff) == 1);
  CHECK(all(0x3f801fff) == std::set<double>{1, 1 + 0x1p-10});
  CHECK(all(0xbf801fff) == std::set<double>{-1, -1 - 0x1p-10});
  CHECK(all(0x3f801000) == std::set<double>{1}); // to even
  CHECK(all(0x3f803000) == std::set<double>{1 + 0x1p-10, 1 + 0x1p-9});
  CHECK(all(0x7f800000) == std::set<double>{kInfinity});
  CHECK(
      std::isnan(MatrixSums(x, {Numerics::Adversarial, 3}).taken(MatrixElement::Tf32, 0x7fc00000)));
}

TEST_CASE("units that nobody has measured add one product after the other") {
  const MmaInstruction &x = rowOf("gfx1100", "amdgcn.wmma.f32.16x16x16.f16");
  CHECK(sumOf(x, {0x1p-24, 0x1p-24}, 1) == 1 + 0x1p-23);
  CHECK(adversarialSums(x, {0x1p-24, 0x1p-24}, 1) == std::set<double>{1});
  CHECK(adversarialSums(x, {0x1.8p-24}, 1) == std::set<double>{1, 1 + 0x1p-23});
}
