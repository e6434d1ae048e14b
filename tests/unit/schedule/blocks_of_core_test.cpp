#include "backend/schedule/timeline/blocks_of_core.h"
#include "tests/support/small_schedules.h"
#include "tests/unit/schedule/timed_programs.h"

#include <doctest/doctest.h>

/// Several blocks on one core: what each does alone stays as it is, and what they share is shared.
namespace imbrex::schedule {
namespace {

using testing::costed;
using testing::intervalOf;
using testing::pipelined;

Interval intervalOfBlocks(const Program &block, std::int32_t blocks,
                          const DealtResource &dealt = {}) {
  return intervalOf(blocksOfCore(block, blocks, dealt));
}

} // namespace

TEST_CASE("blocks fill each other's gaps until what they share is busy") {
  // A step of one alone: 50 for the load, 30 for the product.
  const Program block = pipelined({.depth = 1, .loadBusy = 10, .loadCycles = 50, .compute = 30});
  for (const auto &[blocks, cycles] : {std::pair{1, 80.0}, {2, 80.0}, {3, 90.0}, {5, 150.0}}) {
    CAPTURE(blocks);
    const Interval interval = intervalOfBlocks(block, blocks);
    CHECK(interval.cyclesPerTrip == cycles);
    CHECK(interval.resources.at("alu") == 30.0 * blocks);
    CHECK(interval.resources.at("bus") == 10.0 * blocks);
  }
}

TEST_CASE("of a resource that is dealt a block has its own part") {
  const Program block = pipelined({.depth = 1, .loadBusy = 10, .loadCycles = 50, .compute = 30});
  const DealtResource alu{.name = "alu", .parts = 2};
  const Interval interval = intervalOfBlocks(block, 7, alu); // four, and three
  CHECK(interval.cyclesPerTrip == 120);
  CHECK(interval.resources.at(partOf(alu, 0)) == 120);
  CHECK(interval.resources.at(partOf(alu, 1)) == 90);
  CHECK(interval.resources.at("bus") == 70);
  CHECK(interval.resources.count("alu") == 0);
}

TEST_CASE("whatever the program, a block beside others does what it does alone") {
  for (const testing::SmallSchedule &small : testing::smallSchedules()) {
    CAPTURE(small.name);
    const Program free = small.make(), bound = costed(free);
    const std::vector<std::int32_t> trips(free.trips.size(), 3);
    for (const std::int32_t blocks : {1, 3}) {
      CAPTURE(blocks);
      const Program core = blocksOfCore(bound, blocks);
      Diagnostics diagnostics;
      CHECK_MESSAGE(verify(core, diagnostics), diagnostics.render());
      const auto alone = simulate(bound, trips), together = simulate(core, trips);
      REQUIRE(alone.ok());
      REQUIRE(together.ok());
      CHECK(together->roles.size() == static_cast<std::size_t>(blocks) * bound.roles.size());
      for (std::size_t role = 0; role < together->roles.size(); ++role)
        CHECK(together->roles[role].works == alone->roles[role % bound.roles.size()].works);
      REQUIRE(together->resources.size() == alone->resources.size());
      for (std::size_t i = 0; i < alone->resources.size(); ++i)
        CHECK(together->resources[i].busy == blocks * alone->resources[i].busy);
      CHECK(together->cycles >= alone->cycles);
      if (blocks == 1) CHECK(together->cycles == alone->cycles);
      // Where nothing is shared, nobody waits for another block.
      CHECK(simulate(blocksOfCore(free, blocks), trips)->cycles == simulate(free, trips)->cycles);
    }
  }
}

} // namespace imbrex::schedule
