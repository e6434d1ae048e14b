#include "backend/machine/occupancy.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex::machine;

namespace {

Occupancy on(const char *name, const BlockDemand &demand) {
  const Machine *machine = findMachine(name);
  REQUIRE(machine != nullptr);
  return occupancyOf(*machine, demand);
}

} // namespace

TEST_CASE("each resource limits the blocks of a core") {
  const auto limited = [](const BlockDemand &demand) { return on("sm_90a", demand); };
  const Occupancy small =
      limited({.threads = 32, .registersPerThread = 16, .sharedMemoryBytes = 0});
  CHECK(small.limit == OccupancyLimit::Blocks);
  CHECK(small.warpsPerCore == 32);
  const Occupancy plain =
      limited({.threads = 256, .registersPerThread = 32, .sharedMemoryBytes = 0});
  CHECK(plain.limit == OccupancyLimit::Warps);
  CHECK(plain.warpsPerCore == 64);
  // 168 registers at 384 threads: one block, as the fastest products of matrices have it.
  const Occupancy wide =
      limited({.threads = 384, .registersPerThread = 168, .sharedMemoryBytes = 0});
  CHECK(wide.limit == OccupancyLimit::Registers);
  CHECK(wide.blocksPerCore == 1);
  const Occupancy deep =
      limited({.threads = 128, .registersPerThread = 32, .sharedMemoryBytes = 100000});
  CHECK(deep.limit == OccupancyLimit::SharedMemory);
  CHECK(deep.blocksPerCore == 2);
}

TEST_CASE("a block that asks for more than there is cannot run") {
  for (const Machine &m : allMachines()) {
    CAPTURE(std::string(m.name));
    const BlockDemand fits{.threads = m.warpSize, .registersPerThread = 8, .sharedMemoryBytes = 64};
    CHECK(occupancyOf(m, fits).blocksPerCore > 0);
    BlockDemand tooMany = fits;
    tooMany.threads = m.maxThreads + 1;
    CHECK(occupancyOf(m, tooMany).blocksPerCore == 0);
    BlockDemand tooWide = fits;
    tooWide.registersPerThread = m.maxRegistersPerThread + 1;
    CHECK(occupancyOf(m, tooWide).blocksPerCore == 0);
    BlockDemand tooDeep = fits;
    tooDeep.sharedMemoryBytes = m.sharedMemoryBytes + 1;
    CHECK(occupancyOf(m, tooDeep).blocksPerCore == 0);
    BlockDemand whole = fits;
    whole.sharedMemoryBytes = m.sharedMemoryBytes;
    CHECK(occupancyOf(m, whole).blocksPerCore >= 1);
  }
}

TEST_CASE("more of anything never makes room") {
  for (const Machine &m : allMachines()) {
    CAPTURE(std::string(m.name));
    for (std::int32_t threads = 1; threads <= m.maxThreads; threads += 31) {
      std::int32_t before = m.maxWarpsPerCore;
      for (std::int32_t registers = 1; registers <= m.maxRegistersPerThread; registers += 5) {
        const BlockDemand demand{
            .threads = threads, .registersPerThread = registers, .sharedMemoryBytes = 1000};
        const Occupancy got = occupancyOf(m, demand);
        REQUIRE(got.blocksPerCore <= before);
        REQUIRE(got.warpsPerCore <= m.maxWarpsPerCore);
        before = got.blocksPerCore;
      }
    }
  }
}

TEST_CASE("the limits have names") {
  CHECK(toText(OccupancyLimit::Warps) == "warps");
  CHECK(toText(OccupancyLimit::Blocks) == "blocks");
  CHECK(toText(OccupancyLimit::Registers) == "registers");
  CHECK(toText(OccupancyLimit::SharedMemory) == "shared memory");
}
