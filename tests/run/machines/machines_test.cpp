#include "backend/interpret/interpret.h"
#include "backend/ir/text.h"
#include "tests/run/machines/emulated_cpu.h"
#include "tests/support/random_agreement.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

/// The code that the host target makes for machines other than the one that the tests run on.
namespace imbrex::testing {
namespace {

void askPage(const semantics::Executor &executor) {
  for (const semantics::Case &question : semantics::allCases()) {
    CAPTURE(question.name);
    CHECK(semantics::runCase(question, executor) == "");
  }
}

void agree(std::uint32_t first, std::uint32_t count, const semantics::Executor &executor) {
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    const RandomKernel random = randomKernel(seed, agreementOptions(seed));
    RandomLaunch interpreted(random), launch(random);
    Diagnostics diagnostics;
    REQUIRE(interpret::run(random.kernel, random.grid, interpreted.arguments(), diagnostics, {}));
    CAPTURE(seed);
    CAPTURE(ir::print(random.kernel));
    CHECK(executor(random.kernel, random.grid, launch.arguments(), diagnostics));
    CHECK(difference(random, launch, interpreted) == "");
    CHECK(diagnostics.render() == "");
  }
}

/// The emulator; none, and a word of why, where the tests of it cannot run.
std::optional<std::string> emulator() {
  auto found = GuestProcess::findEmulator();
  if (!found) MESSAGE("SKIP: qemu-aarch64 is not installed (Debian's package qemu-user)");
  return found;
}

semantics::Executor on(EmulatedCpu &cpu) {
  return
      [&cpu](const ir::Kernel &kernel, const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
             Diagnostics &diagnostics) { return cpu.run(kernel, grid, arguments, diagnostics); };
}

} // namespace

TEST_CASE("aarch64: code gives what the semantics page says") {
  const auto qemu = emulator();
  if (!qemu) return;
  EmulatedCpu first(*qemu, "generic", "cortex-a53");
  askPage(on(first));
}

TEST_CASE("aarch64: random kernels leave what the interpreter does") {
  const auto qemu = emulator();
  if (!qemu) return;
  EmulatedCpu first(*qemu, "generic", "cortex-a53");
  agree(0, 20, on(first));
}

} // namespace imbrex::testing
