// Products of f32 in parts (tf32x3, bf16x3), on the units of every kind of machine: how near they
// are to what they should be, and what becomes of infinities and NaN.

#include "backend/pipeline.h"
#include "backend/target/gpu_target.h"
#include "tests/codegen/kernel_table.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

constexpr const char *kMachinesOfParts[] = {"sm_75",  "sm_80",  "sm_90a",  "sm_120a", "gfx90a",
                                            "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"};

constexpr std::int64_t kRows = 64, kColumns = 32, kDepth = 32;

/// c = a · b, of what is between the loads and the product `between`, as %p and %q.
TableKernel productInParts(const std::string &precision, const std::string &between) {
  const std::string text =
      "kernel @parts(%a: view<const f32, 2>, %b: view<const f32, 2>, %c: view<f32, 2>) stage tiles "
      "{\n%0 = constant 0 : i64\n%1 = constant 1 : i64\n%n = constant 2 : i64\n"
      "%z = constant 0.0 : f32[64x32]\n"
      "%r = for %0, %n, %1, %z [pipelined = 2] (%k: i64, %sum: f32[64x32]) {\n"
      "%x = view.load %a, %0, %k : f32[64x32]\n%y = view.load %b, %k, %0 : f32[32x32]\n" +
      between + "%d = dot %p, %q, %sum [precision = " + precision +
      "] : f32[64x32]\nyield %d\n} : f32[64x32]\nview.store %c, %r, %0, %0\n}\n";
  return {.name = "parts",
          .kernel = parsedKernel(text),
          .grid = {.extents = {1, 1, 1}},
          .arguments = {"random:64x64", "random:64x32", "zeros:64x32"}};
}

// As they are: of any number plus 0 in another register.
constexpr const char *kAsLoaded = "%o = constant 0.0 : f32[64x32]\n%u = constant 0.0 : f32[32x32]\n"
                                  "%p = add %x, %o : f32[64x32]\n%q = add %y, %u : f32[32x32]\n";

std::vector<float> numbersOf(const TableLaunch &launch, std::size_t piece) {
  const ir::Argument argument = launch.pieces()[piece].argument;
  std::vector<float> numbers(static_cast<std::size_t>(argument.bytes) / sizeof(float));
  std::memcpy(numbers.data(), argument.data, numbers.size() * sizeof(float));
  return numbers;
}

/// The largest error of c, in units of the sum of |a||b| that the element is made of.
double errorOf(const TableLaunch &launch) {
  const std::vector<float> a = numbersOf(launch, 0), b = numbersOf(launch, 1),
                           c = numbersOf(launch, 2);
  double worst = 0;
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t column = 0; column < kColumns; ++column) {
      double exact = 0, size = 0;
      for (std::size_t k = 0; k < 2 * kDepth; ++k) {
        const double term = double{a[row * 2 * kDepth + k]} * double{b[k * kColumns + column]};
        exact += term;
        size += std::fabs(term);
      }
      worst = std::max(worst, std::fabs(double{c[row * kColumns + column]} - exact) / size);
    }
  return worst;
}

} // namespace

TEST_CASE("products in parts keep what they promise, also where units add up badly") {
  // What the parts leave out, and sums of f32: of 64 terms, and of three for each where units cut.
  constexpr double kSums = 64 * 0x1p-23, kBadSums = 3 * 64 * 0x1p-22;
  for (const auto &[precision, parts] :
       std::vector<std::pair<std::string, double>>{{"tf32x3", 0x5p-22}, {"bf16x3", 0x3p-16}})
    for (const char *machine : kMachinesOfParts) {
      if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
      const TableKernel one = productInParts(precision, kAsLoaded);
      CAPTURE(std::string(machine));
      CAPTURE(precision);
      const auto executable = executableOn(std::string("emulated:") + machine, one);
      TableLaunch got(one), worst(one);
      REQUIRE(run(*executable, one, got) == "");
      CHECK(errorOf(got) < parts + kSums);
      REQUIRE(run(*executable, one, worst,
                  {.emulated = {.seed = 5, .numerics = emulate::Numerics::Adversarial}}) == "");
      CHECK(errorOf(worst) < parts + kBadSums);
    }
}

TEST_CASE("an infinity or NaN in a product in parts is what comes of it") {
  // Of positive numbers: a row of infinities, and one of NaN.
  const std::string between = "%p0 = abs %x : f32[64x32]\n%q = abs %y : f32[32x32]\n"
                              "%i = arange : i32[64]\n%ic = reshape %i : i32[64x1]\n"
                              "%ib = broadcast %ic : i32[64x32]\n"
                              "%three = constant 3 : i32[64x32]\n%five = constant 5 : i32[64x32]\n"
                              "%is3 = eq %ib, %three : bool[64x32]\n"
                              "%is5 = eq %ib, %five : bool[64x32]\n"
                              "%inf = constant inf : f32[64x32]\n%nan = constant nan : f32[64x32]\n"
                              "%p1 = select %is3, %inf, %p0 : f32[64x32]\n"
                              "%p = select %is5, %nan, %p1 : f32[64x32]\n";
  for (const std::string precision : {"tf32x3", "bf16x3"})
    for (const char *machine : kMachinesOfParts) {
      if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
      const TableKernel one = productInParts(precision, between);
      CAPTURE(std::string(machine));
      CAPTURE(precision);
      TableLaunch got(one);
      REQUIRE(run(*executableOn(std::string("emulated:") + machine, one), one, got) == "");
      const std::vector<float> c = numbersOf(got, 2);
      for (std::size_t row = 0; row < kRows; ++row)
        for (std::size_t column = 0; column < kColumns; ++column) {
          const float sum = c[row * kColumns + column];
          CAPTURE(row);
          CHECK((row == 3 ? sum == INFINITY : row == 5 ? std::isnan(sum) : std::isfinite(sum)));
        }
    }
}

TEST_CASE("products in parts run on the units that the machine has") {
  const auto unitsOf = [](const std::string &precision, const char *machine) {
    ir::Kernel kernel = productInParts(precision, kAsLoaded).kernel.clone();
    Diagnostics diagnostics;
    REQUIRE(runPasses(kernel, gpuPipeline(), {diagnostics, *machine::findMachine(machine)},
                      "choose-units"));
    std::vector<std::string> units;
    ir::walk(kernel.body(), [&](const ir::Op &op) {
      if (op.kind == ir::OpKind::Dot) units.push_back(op.attrs<ir::DotAttrs>().unit);
    });
    return units;
  };
  constexpr std::size_t kParts = 3;
  using Units = std::vector<std::string>;
  CHECK(unitsOf("tf32x3", "sm_80") == Units(kDepth / 8 * kParts, "nvvm.mma.m16n8k8.row.col.tf32"));
  CHECK(unitsOf("bf16x3", "sm_90a") ==
        Units(kDepth / 16 * kParts, "nvvm.mma.m16n8k16.row.col.bf16"));
  CHECK(unitsOf("tf32x3", "gfx942") == Units{"amdgcn.mfma.f32.32x32x2f32"});
  CHECK(unitsOf("tf32", "gfx950") == Units{"amdgcn.mfma.f32.32x32x2f32"});
  CHECK(unitsOf("bf16x3", "gfx950") == Units{"amdgcn.mfma.f32.32x32x2f32"});
  CHECK(unitsOf("tf32x3", "gfx1100") == Units{""}); // multiply-adds
  CHECK(unitsOf("bf16x3", "gfx1100") == Units{""});
  CHECK(unitsOf("bf16x3", "sm_75") == Units{""});
}
