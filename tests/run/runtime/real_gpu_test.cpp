#include "backend/interpret/interpret.h"
#include "runtime/devices.h"
#include "runtime/executable.h"
#include "tests/support/random_kernel.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

#include <cstdio>

/// The GPUs of this machine against the semantics page and against the interpreter. Where there is
/// none, a line says so, and ctest calls the test skipped.
namespace imbrex {
namespace {

std::optional<device> gpu(const std::string &name) {
  const Result<device> on = runtime::findDevice(name, {});
  if (on) return *on;
  std::printf("SKIP: %s\n", on.error().message.c_str());
  return std::nullopt;
}

bool runOn(device on, const ir::Kernel &kernel, const ir::Grid &grid,
           llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
  const auto executable = runtime::makeExecutable(kernel, on, diagnostics);
  return executable != nullptr && executable->run(grid, arguments, diagnostics);
}

void askPage(const std::string &name) {
  const auto on = gpu(name);
  if (!on) return;
  for (const semantics::Case &question : semantics::allCases()) {
    CAPTURE(question.name);
    CHECK(semantics::runCase(question,
                             [&](const ir::Kernel &kernel, const ir::Grid &grid,
                                 llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
                               return runOn(*on, kernel, grid, arguments, diagnostics);
                             }) == "");
  }
}

void compareRandomKernels(const std::string &name) {
  const auto on = gpu(name);
  if (!on) return;
  constexpr std::uint32_t kSeeds = 300;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    const testing::RandomKernel random = testing::randomKernel(seed);
    testing::RandomLaunch launched(random), interpreted(random);
    Diagnostics diagnostics;
    REQUIRE(interpret::run(random.kernel, random.grid, interpreted.arguments(), diagnostics));
    const bool ok = runOn(*on, random.kernel, random.grid, launched.arguments(), diagnostics);
    REQUIRE_MESSAGE(ok, diagnostics.render());
    REQUIRE(testing::difference(random, launched, interpreted) == "");
  }
}

} // namespace

TEST_CASE("the cuda device gives what the semantics page says") { askPage("cuda"); }
TEST_CASE("the hip device gives what the semantics page says") { askPage("hip"); }
TEST_CASE("the cuda device and the interpreter leave the same bits, on random kernels") {
  compareRandomKernels("cuda");
}
TEST_CASE("the hip device and the interpreter leave the same bits, on random kernels") {
  compareRandomKernels("hip");
}

} // namespace imbrex
