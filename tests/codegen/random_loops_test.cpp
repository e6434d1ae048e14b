#include "backend/target/gpu_target.h"
#include "tests/codegen/random_loops.h"
#include "tests/codegen/table_launch.h"

#include <doctest/doctest.h>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

constexpr std::uint64_t kSeeds = 12, kSeedsOfMany = 6;

void checkOne(const std::string &target, const TableKernel &one, std::uint64_t seed) {
  CAPTURE(seed);
  TableLaunch meant(one), onHost(one);
  REQUIRE(run(*executableOn("interpreter", one), one, meant) == "");
  REQUIRE(run(*executableOn("host", one), one, onHost) == "");
  REQUIRE(onHost == meant);
  const auto executable = executableOn("emulated:" + target, one);
  for (const auto delivery : {emulate::Delivery::Late, emulate::Delivery::Random}) {
    TableLaunch got(one);
    REQUIRE(run(*executable, one, got, {.emulated = {.seed = seed, .delivery = delivery}}) == "");
    REQUIRE(got == meant);
  }
}

/// Each target has seeds of its own.
void checkLoops(const std::string &target, std::uint64_t first) {
  const machine::Machine *machine = machine::findMachine(target);
  REQUIRE(machine != nullptr);
  if (target::findGpuTarget(*machine) == nullptr) {
    MESSAGE("SKIP: no code for ", target, " in this build");
    return;
  }
  for (std::uint64_t seed = first; seed < first + kSeeds; ++seed)
    checkOne(target, randomLoops(seed), seed);
  for (std::uint64_t seed = first; seed < first + kSeedsOfMany; ++seed)
    checkOne(target, randomLoops(seed, kManyLoops), seed);
}

} // namespace

TEST_CASE("random loops in loops compute on an emulated sm_80 what they mean") {
  checkLoops("sm_80", 0);
}
TEST_CASE("random loops in loops compute on an emulated sm_90a what they mean") {
  checkLoops("sm_90a", 1000);
}
TEST_CASE("random loops in loops compute on an emulated gfx942 what they mean") {
  checkLoops("gfx942", 2000);
}
TEST_CASE("random loops in loops compute on an emulated gfx950 what they mean") {
  checkLoops("gfx950", 3000);
}
