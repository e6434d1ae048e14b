#include "backend/schedule/blocks/block_program.h"
#include "block_programs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

using namespace imbrex;
using namespace imbrex::schedule;

namespace {

BlockWaits waitsOf(const PipelineProgram &program, const PipelineConfig &config,
                   std::int64_t lgkmPerA = 0, std::int64_t lgkmPerB = 0) {
  return deriveWaitsFromBlocks(program, config, lgkmPerA, lgkmPerB).value();
}

/// The rules once more, over all loads of the program at once.
BlockWaits waitsAgain(const PipelineProgram &program, const PipelineConfig &config) {
  const auto halves = static_cast<std::size_t>(config.numPartitions);
  const auto ofHalf = program.blocks.size() / halves;
  std::vector<std::int64_t> first(halves), stays(halves);
  for (std::size_t number = 0; number < program.blocks.size(); ++number) {
    const std::size_t half = number / ofHalf;
    for (const auto &slot :
         {program.blocks[number].globalLoad, program.blocks[number].globalLoad1}) {
      if (!slot) continue;
      const bool a = slot->tag == OpTag::LoadA;
      if (number % ofHalf == 0) first[half] += a ? config.lgkmPerLoadA : config.lgkmPerLoadB;
      if (std::cmp_equal(slot->stage, half))
        stays[half] += a ? config.vmPerLoadA : config.vmPerLoadB;
    }
  }
  stays.push_back(255);
  return {*std::ranges::max_element(first), *std::ranges::min_element(stays)};
}

} // namespace

TEST_CASE("the ping-pong programs have the waits that the package asserts") {
  CHECK(waitsOf(onePerBlock(), pingPongConfig(4, 8)) == BlockWaits{8, 12});
  CHECK(waitsOf(onePerBlock(), pingPongConfig(4, 4)) == BlockWaits{4, 12});
  CHECK(waitsOf(oneNoneTwoOne(), pingPongConfig(4, 4)) == BlockWaits{4, 12});
  CHECK(waitsOf(inBodyOrder(), pingPongConfig(4, 8)) == BlockWaits{8, 12});
}

TEST_CASE("the entries of a fragment are the configuration's, and the caller's where it has none") {
  PipelineConfig config = pingPongConfig(4, 0);
  CHECK(waitsOf(onePerBlock(), config) == BlockWaits{0, 12});
  CHECK(waitsOf(onePerBlock(), config, 8, 5) == BlockWaits{8, 12});
  config.lgkmPerLoadA = 3;
  CHECK(waitsOf(onePerBlock(), config, 8, 5) == BlockWaits{3, 12});
  PipelineProgram program = onePerBlock();
  program.blocks[4].globalLoad1 = loadB(1, 0);
  CHECK(waitsOf(program, config, 8, 5) == BlockWaits{3 + 5, 12});
  config.lgkmPerLoadB = 6;
  CHECK(waitsOf(program, config, 8, 5) == BlockWaits{3 + 6, 12});
}

TEST_CASE("the stage of a load makes it a completion, not the k that it fetches") {
  // Of half 1: fetched for the current k, as a prefetch is, and yet read by half 0 next.
  PipelineProgram program = onePerBlock();
  REQUIRE(program.blocks[4].globalLoad == loadA(0, 1, KOffset::K0));
  const BlockWaits waits = waitsOf(program, pingPongConfig(4, 8));
  for (MmaBlock &block : program.blocks)
    if (block.globalLoad) block.globalLoad->kOffset = KOffset::Previous;
  CHECK(waitsOf(program, pingPongConfig(4, 8)) == waits);
}

TEST_CASE("the looser half decides the first wait, and the stricter half the last") {
  PipelineProgram program = onePerBlock();
  program.blocks[4].globalLoad1 = loadB(0, 0); // a second completion load in half 1
  program.blocks[7].globalLoad = std::nullopt;
  CHECK(waitsOf(program, pingPongConfig(4, 8)) == BlockWaits{16, 8});
}

TEST_CASE("halves of any geometry wait for all but their own stage's loads") {
  for (std::int32_t m = 1; m <= 4; ++m)
    for (std::int32_t n = 1; n <= 4; ++n)
      for (std::int32_t vmA = 1; vmA <= 8; ++vmA)
        for (std::int32_t vmB = 1; vmB <= 8; ++vmB) {
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(vmA);
          CAPTURE(vmB);
          const PipelineConfig config{.mMmas = m,
                                      .nMmas = n,
                                      .vmPerLoadA = vmA,
                                      .vmPerLoadB = vmB,
                                      .lgkmPerLoadA = 2 * vmA,
                                      .lgkmPerLoadB = 3 * vmB};
          PipelineProgram program;
          for (const std::int32_t half : {0, 1})
            for (std::int32_t block = 0; block < m * n; ++block)
              program.blocks.push_back({.globalLoad = loadA(block == 0 ? 1 - half : half, block),
                                        .globalLoad1 = loadB(half, block)});
          CHECK(waitsOf(program, config) ==
                BlockWaits{2 * vmA + 3 * vmB, std::min((m * n - 1) * vmA + m * n * vmB, 255)});
        }
}

TEST_CASE("random programs have the waits that a second reading of the rules gives") {
  std::mt19937 rng(11);
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    const RandomBlocks random = randomBlocks(rng);
    CHECK(waitsOf(random.program, random.config) == waitsAgain(random.program, random.config));
  }
}

TEST_CASE("a load without a channel counts as one of B, as in the package") {
  PipelineProgram program = onePerBlock();
  PipelineConfig config = pingPongConfig(4, 8);
  config.vmPerLoadA = 7;
  CHECK(waitsOf(program, config) == BlockWaits{8, 15});
  program.blocks[2].globalLoad->channel = BlockChannel::None;
  program.blocks[6].globalLoad->channel = BlockChannel::None;
  CHECK(waitsOf(program, config) == BlockWaits{8, 12});
}

TEST_CASE("a program without blocks has nothing in flight") {
  CHECK(waitsOf({}, pingPongConfig(4, 8)) == BlockWaits{0, 0});
  PipelineProgram none;
  CHECK(applyWaits(none, pingPongConfig(4, 8), {}).ok());
}

TEST_CASE("one half waits by its own stage") {
  PipelineConfig config{.numPartitions = 1, .vmPerLoadA = 4, .vmPerLoadB = 2};
  CHECK(waitsOf({{{.globalLoad = loadA(0, 0), .globalLoad1 = loadB(1, 0)}}}, config) ==
        BlockWaits{0, 4});
  CHECK(waitsOf({{{}}}, config) == BlockWaits{0, 0});
  CHECK(waitsOf({{{}, {.globalLoad = loadB(0, 0)}, {}}}, config) == BlockWaits{0, 2});
}

TEST_CASE("the last wait starts at the package's 255") {
  PipelineConfig config{.numPartitions = 1, .vmPerLoadA = 300};
  CHECK(waitsOf({{{.globalLoad = loadA(0, 0)}}}, config) == BlockWaits{0, 255});
}

TEST_CASE("blocks that make no equal halves are refused") {
  PipelineProgram program = onePerBlock();
  PipelineConfig config = pingPongConfig(4, 8);
  program.blocks.pop_back();
  CHECK(render(deriveWaitsFromBlocks(program, config).error()) ==
        "imbrex: error: a block program of 7 blocks has no 2 equal halves\n"
        "  hint: a half has as many blocks as each other one, so that a wait at its end is at the "
        "same place in all\n");
  program.blocks.pop_back();
  CHECK(render(deriveWaitsFromBlocks(program, config).error()) ==
        "imbrex: error: each of the 2 halves of a block program has 3 blocks, but 2 x 2 tiles need "
        "4\n  hint: one block for each tile of the half\n");
  config.mMmas = 0; // as many as the program has
  CHECK(deriveWaitsFromBlocks(program, config).ok());
  program.blocks.resize(1);
  CHECK_FALSE(deriveWaitsFromBlocks(program, config).ok());
}

TEST_CASE("sizes that mean nothing are refused") {
  PipelineConfig config = pingPongConfig(4, 8);
  config.numPartitions = 0;
  CHECK(render(deriveWaitsFromBlocks(onePerBlock(), config).error()) ==
        "imbrex: error: a block program has 0 halves, but must have at least 1\n");
  config = pingPongConfig(4, 8);
  config.vmPerLoadB = -1;
  CHECK(render(deriveWaitsFromBlocks(onePerBlock(), config).error()) ==
        "imbrex: error: a block program has -1 vm entries of a load of B, but must have at least "
        "0\n");
}

TEST_CASE("waits are written at the first and the last block of each half") {
  PipelineProgram program = onePerBlock();
  program.blocks[3].preSync = {.vm = 1, .lgkm = 1};
  program.blocks[5].preSync = {.lgkm = 7}; // neither first nor last: stays
  const BlockWaits waits[] = {{8, 12}};
  REQUIRE(applyWaits(program, pingPongConfig(4, 8), waits).ok());
  for (const std::size_t half : {0U, 4U}) {
    CHECK(program.blocks[half].preSync == CounterWait{.lgkm = 8});
    CHECK(program.blocks[half + 3].preSync == CounterWait{.vm = 12});
  }
  CHECK(program.blocks[5].preSync == CounterWait{.lgkm = 7});
  CHECK(program.blocks[6].preSync == CounterWait{});
}

TEST_CASE("each half has its own waits where there are as many") {
  PipelineProgram program = onePerBlock();
  const BlockWaits waits[] = {{1, 2}, {3, 4}};
  REQUIRE(applyWaits(program, pingPongConfig(4, 8), waits).ok());
  CHECK(program.blocks[0].preSync == CounterWait{.lgkm = 1});
  CHECK(program.blocks[3].preSync == CounterWait{.vm = 2});
  CHECK(program.blocks[4].preSync == CounterWait{.lgkm = 3});
  CHECK(program.blocks[7].preSync == CounterWait{.vm = 4});
}

TEST_CASE("what a wait cannot name becomes the most that it can") {
  PipelineProgram program = onePerBlock();
  const BlockWaits waits[] = {{16, 255}};
  REQUIRE(applyWaits(program, pingPongConfig(4, 8), waits).ok());
  CHECK(program.blocks[0].preSync == CounterWait{.lgkm = 15});
  CHECK(program.blocks[3].preSync == CounterWait{.vm = 63});
  REQUIRE(applyWaits(program, pingPongConfig(4, 8), waits, {.vm = 31, .lgkm = 7}).ok());
  CHECK(program.blocks[0].preSync == CounterWait{.lgkm = 7});
  CHECK(program.blocks[3].preSync == CounterWait{.vm = 31});
}

TEST_CASE("a half whose first loads follow the barrier waits for all fragments before") {
  PipelineProgram program = onePerBlock();
  program.blocks[0].barrierBeforePreOps = true;
  const BlockWaits waits[] = {{8, 12}};
  REQUIRE(applyWaits(program, pingPongConfig(4, 8), waits).ok());
  CHECK(program.blocks[0].preSync == CounterWait{.lgkm = 0});
  CHECK(program.blocks[4].preSync == CounterWait{.lgkm = 8});
}

TEST_CASE("with few barriers, fragments are waited for at an entry that waits anyway") {
  PipelineProgram program = onePerBlock();
  program.blocks[0].entryWait = {.vm = 12};
  program.blocks[0].preSync = {.vm = 3};
  PipelineConfig config = pingPongConfig(4, 8);
  const BlockWaits waits[] = {{8, 12}};
  PipelineProgram all = program;
  REQUIRE(applyWaits(all, config, waits).ok());
  CHECK(all.blocks[0].entryWait == CounterWait{.vm = 12});
  CHECK(all.blocks[0].preSync == CounterWait{.lgkm = 8});
  config.minimalBarriers = true;
  REQUIRE(applyWaits(program, config, waits).ok());
  CHECK(program.blocks[0].entryWait == CounterWait{.vm = 12, .lgkm = 8});
  CHECK(program.blocks[0].preSync == CounterWait{});
  CHECK(program.blocks[4].preSync == CounterWait{.lgkm = 8});
}

TEST_CASE("the one block of a half waits for both counters") {
  PipelineProgram program{{{.globalLoad = loadA(1, 0)}, {.globalLoad = loadA(0, 0)}}};
  const BlockWaits waits[] = {{5, 6}};
  REQUIRE(applyWaits(program, {.vmPerLoadA = 1}, waits).ok());
  for (const MmaBlock &block : program.blocks)
    CHECK(block.preSync == CounterWait{.vm = 6, .lgkm = 5});
}

TEST_CASE("an op of a block program has the package's short name") {
  CHECK(toText(loadA(1, 1, KOffset::Previous)) == "LA[1,1]@KP");
  CHECK(toText(loadB(0, 2, KOffset::K1)) == "LB[0,2]@K1");
  CHECK(toText(loadB(0, 2, KOffset::Next)) == "LB[0,2]@KN");
  CHECK(toText(fragmentA(1, 0)) == "FA[1,0]");
  CHECK(toText(fragmentB(0, 1)) == "FB[0,1]");
  CHECK(toText(mma(0, 1)) == "MMA[0,1]");
}
