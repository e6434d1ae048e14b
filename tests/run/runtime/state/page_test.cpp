#include "backend/support/float_state.h"
#include "backend/target/gpu_target.h"
#include "runtime/devices.h"
#include "runtime/executable.h"
#include "tests/run/runtime/state/float_states.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

#include <thread>

/// The semantics page, asked by a caller whose floating-point state is not the default.
namespace imbrex {
namespace {

using testing::FloatState;

/// The cases in which the state would show.
std::vector<semantics::Case> casesOfFloats() {
  std::vector<semantics::Case> all;
  for (auto *make : {&semantics::floatCases, &semantics::conversionCases,
                     &semantics::elementaryCases, &semantics::axisCases, &semantics::productCases})
    for (semantics::Case &one : make()) all.push_back(std::move(one));
  return all;
}

bool isThere(const std::string &target) {
  const machine::Machine *machine = machine::findMachine(target);
  if (machine != nullptr && target::findGpuTarget(*machine) != nullptr) return true;
  MESSAGE("SKIP: no code for ", target, " in this build");
  return false;
}

/// Ask every `step`-th case in a state; what is expected was made in the default one.
void ask(const std::string &name, testing::NamedState in, std::size_t first, std::size_t step) {
  CAPTURE(name);
  CAPTURE(in.name);
  const DefaultFloatState state;
  const Result<device> on = runtime::findDevice(name, {});
  REQUIRE(on);
  const auto executor = [&](const ir::Kernel &kernel, const ir::Grid &grid,
                            llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
    const FloatState callers(in.kind);
    const std::uint64_t before = FloatState::word();
    const auto executable = runtime::makeExecutable(kernel, *on, diagnostics, arguments);
    const bool ok = executable != nullptr && executable->run(grid, arguments, diagnostics);
    CHECK(FloatState::word() == before);
    return ok;
  };
  const std::vector<semantics::Case> cases = casesOfFloats();
  for (std::size_t i = first; i < cases.size(); i += step) {
    CAPTURE(cases[i].name);
    CHECK(semantics::runCase(cases[i], executor) == "");
  }
}

/// Each state gets its share of the page.
void askInAllStates(const std::string &name, std::size_t step) {
  std::size_t first = 0;
  for (const testing::NamedState &state : testing::kStates) ask(name, state, first++ % step, step);
}

} // namespace

TEST_CASE("interpreter: the page holds in every state") { askInAllStates("interpreter", 2); }

TEST_CASE("host: the page holds in every state") { askInAllStates("host", 3); }

TEST_CASE("emulated sm_90a: the page holds in every state") {
  if (isThere("sm_90a")) askInAllStates("emulated:sm_90a", 8);
}

TEST_CASE("emulated gfx942: the page holds in every state") {
  if (isThere("gfx942")) askInAllStates("emulated:gfx942", 8);
}

} // namespace imbrex
