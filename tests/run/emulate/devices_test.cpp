#include "backend/target/gpu_target.h"
#include "runtime/devices.h"
#include "runtime/executable.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

/// The code for GPUs, emulated, against the semantics page.
namespace imbrex {
namespace {

void askPage(const std::string &target) {
  const machine::Machine *machine = machine::findMachine(target);
  REQUIRE(machine != nullptr);
  if (target::findGpuTarget(*machine) == nullptr) {
    MESSAGE("SKIP: no code for ", target, " in this build");
    return;
  }
  const Result<device> on = runtime::findDevice("emulated:" + target, {});
  REQUIRE(on);
  const auto executor = [&](const ir::Kernel &kernel, const ir::Grid &grid,
                            llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
    const auto executable = runtime::makeExecutable(kernel, *on, diagnostics, arguments);
    return executable != nullptr && executable->run(grid, arguments, diagnostics);
  };
  for (const semantics::Case &question : semantics::allCases()) {
    CAPTURE(target);
    CAPTURE(question.name);
    CHECK(semantics::runCase(question, executor) == "");
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

// Run by --no-skip: half an hour.
TEST_CASE("every emulated GPU gives what the semantics page says" * doctest::skip()) {
  for (const machine::Machine &machine : machine::allMachines()) askPage(std::string(machine.name));
}

} // namespace imbrex
