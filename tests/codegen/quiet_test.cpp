#include "backend/target/gpu_target.h"
#include "tests/codegen/table_launch.h"

#include <doctest/doctest.h>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

void checkQuiet(const std::string &target, std::uint64_t seeds) {
  const machine::Machine *machine = machine::findMachine(target);
  for (const TableKernel &one : kernelTable(*machine)) {
    if (!one.isEmulated) continue;
    CAPTURE(target);
    CAPTURE(one.name);
    const auto executable = executableOn("emulated:" + target, one);
    TableLaunch meant(one), first(one);
    REQUIRE(run(*executableOn("interpreter", one), one, meant) == "");
    REQUIRE(run(*executable, one, first) == "");
    REQUIRE(first.difference(meant) == "");
    for (std::uint64_t seed = 1; seed < seeds; ++seed) {
      CAPTURE(seed);
      TableLaunch again(one);
      REQUIRE(run(*executable, one, again, {.emulated = {.seed = seed}}) == "");
      REQUIRE(again == first);
    }
  }
}

} // namespace

// A case for each, so that they can run side by side (CMakeLists.txt).
TEST_CASE("no kernel of the table is reported under any order of warps, emulated on sm_90a") {
  checkQuiet("sm_90a", 50);
}
TEST_CASE("no kernel of the table is reported under any order of warps, emulated on gfx942") {
  checkQuiet("gfx942", 50);
}

// Run by --no-skip: scripts/nightly.sh.
TEST_CASE("no kernel of the table is reported on any emulated GPU" * doctest::skip()) {
  for (const machine::Machine &machine : machine::allMachines())
    if (target::findGpuTarget(machine) != nullptr) checkQuiet(std::string(machine.name), 200);
}
