#include "backend/interpret/interpret.h"
#include "runtime/devices.h"
#include "runtime/executable.h"
#include "tests/support/random_kernel.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

/// The code for GPUs, emulated, against the semantics page and against the interpreter.
namespace imbrex {
namespace {

bool runOn(const std::string &target, const ir::Kernel &kernel, const ir::Grid &grid,
           llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
  const Result<device> on = runtime::findDevice("emulated:" + target, {});
  REQUIRE(on);
  const auto executable = runtime::makeExecutable(kernel, *on, diagnostics);
  return executable != nullptr && executable->run(grid, arguments, diagnostics);
}

/// Each architecture, and each size of a warp.
const std::vector<std::string> kTargets{"sm_80",  "sm_90a",  "sm_120a", "gfx90a",
                                        "gfx942", "gfx1100", "gfx1201"};

void askPage(const std::string &target) {
  for (const semantics::Case &question : semantics::allCases()) {
    CAPTURE(target);
    CAPTURE(question.name);
    const auto executor = [&](const ir::Kernel &kernel, const ir::Grid &grid,
                              llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
      return runOn(target, kernel, grid, arguments, diagnostics);
    };
    CHECK(semantics::runCase(question, executor) == "");
  }
}

void compareRandomKernels(std::uint32_t first, std::uint32_t step, const std::string &target) {
  constexpr std::uint32_t kSeeds = 70;
  for (std::uint32_t seed = first; seed < kSeeds; seed += step) {
    CAPTURE(target);
    CAPTURE(seed);
    const testing::RandomKernel random = testing::randomKernel(seed);
    testing::RandomLaunch emulated(random), interpreted(random);
    Diagnostics diagnostics;
    REQUIRE(interpret::run(random.kernel, random.grid, interpreted.arguments(), diagnostics));
    const bool ok = runOn(target, random.kernel, random.grid, emulated.arguments(), diagnostics);
    REQUIRE_MESSAGE(ok, diagnostics.render());
    REQUIRE(testing::difference(random, emulated, interpreted) == "");
  }
}

} // namespace

// A case for each, so that they can run side by side (CMakeLists.txt).
TEST_CASE("emulated sm_80 gives what the semantics page says") { askPage("sm_80"); }
TEST_CASE("emulated sm_90a gives what the semantics page says") { askPage("sm_90a"); }
TEST_CASE("emulated sm_120a gives what the semantics page says") { askPage("sm_120a"); }
TEST_CASE("emulated gfx90a gives what the semantics page says") { askPage("gfx90a"); }
TEST_CASE("emulated gfx942 gives what the semantics page says") { askPage("gfx942"); }
TEST_CASE("emulated gfx1100 gives what the semantics page says") { askPage("gfx1100"); }
TEST_CASE("emulated gfx1201 gives what the semantics page says") { askPage("gfx1201"); }

TEST_CASE("emulated GPUs and the interpreter leave the same bits, on random kernels") {
  for (std::uint32_t i = 0; i < kTargets.size(); ++i)
    compareRandomKernels(i, static_cast<std::uint32_t>(kTargets.size()), kTargets[i]);
}

// Run by --no-skip: minutes.
TEST_CASE("every emulated GPU agrees with the interpreter on every random kernel" *
          doctest::skip()) {
  for (const std::string &target : kTargets) compareRandomKernels(0, 1, target);
}

} // namespace imbrex
