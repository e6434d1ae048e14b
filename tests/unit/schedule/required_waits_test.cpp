#include "backend/schedule/blocks/required_waits.h"
#include "block_programs.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>

using namespace imbrex;
using namespace imbrex::schedule;

namespace {

/// What requiredWaits says of a program that it accepts: one for each half.
std::vector<BlockWaits> required(const PipelineProgram &program, const PipelineConfig &config,
                                 const CounterLimits &limits = {}) {
  const auto waits = requiredWaits(program, config, limits);
  std::vector<BlockWaits> result;
  for (const HalfWaits &half : waits->halves) result.push_back(half.waits);
  return result;
}

using Waits = std::vector<BlockWaits>;

} // namespace

TEST_CASE("where the load for the other half is the oldest, the formula's last wait is exact") {
  for (const PipelineProgram &program : {onePerBlock(), oneNoneTwoOne(), inBodyOrder()}) {
    CHECK(required(program, pingPongConfig(4, 4)) == Waits{{0, 12}, {0, 12}});
    const WaitComparison comparison = compareWaits(program, pingPongConfig(4, 4)).value();
    CHECK_FALSE(comparison.unsafe());
    CHECK(comparison.differs()); // lgkm: see below
  }
}

TEST_CASE("a load for the other half that comes last makes the formula unsafe, and we say so") {
  const PipelineProgram program =
      pingPong([](std::vector<MmaBlock> &blocks, const PingPongLoads &loads) {
        blocks[0].globalLoad = loads.ownA;
        blocks[1].globalLoad = loads.ownB0;
        blocks[2].globalLoad = loads.ownB1;
        blocks[3].globalLoad = loads.other;
      });
  CHECK(required(program, pingPongConfig(4, 8)) == Waits{{0, 0}, {0, 0}});
  const WaitComparison comparison = compareWaits(program, pingPongConfig(4, 8)).value();
  CHECK(comparison.formula == BlockWaits{8, 12});
  CHECK(comparison.unsafe());
  CHECK(
      toText(comparison) ==
      "half 0, first block: lgkm 8 by formula, 0 required: too weak, but all fragments are drained "
      "before the mma; FA[0,0] is the newest fragment that must be done\n"
      "half 0, last block: vm 12 by formula, 0 required: UNSAFE; LA[1,1]@KP is the newest load "
      "that must be done\n"
      "half 1, first block: lgkm 8 by formula, 0 required: too weak, but all fragments are drained "
      "before the mma; FA[1,0] is the newest fragment that must be done\n"
      "half 1, last block: vm 12 by formula, 0 required: UNSAFE; LA[0,1]@K0 is the newest load "
      "that must be done\n"
      "at most 28 entries of vm in flight by formula: issuing stalls from 24 on\n");
}

TEST_CASE("each place of the load for the other half has its own count") {
  for (std::size_t place = 0; place < 4; ++place) {
    CAPTURE(place);
    const PipelineProgram program =
        pingPong([&](std::vector<MmaBlock> &blocks, const PingPongLoads &loads) {
          std::vector<OpDesc> order{loads.ownA, loads.ownB0, loads.ownB1};
          order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), loads.other);
          for (std::size_t block = 0; block < 4; ++block) blocks[block].globalLoad = order[block];
        });
    const auto count = static_cast<std::int64_t>(4 * (3 - place));
    CHECK(required(program, pingPongConfig(4, 8)) == Waits{{0, count}, {0, count}});
    CHECK(compareWaits(program, pingPongConfig(4, 8))->unsafe() == (place != 0));
  }
}

TEST_CASE("a load issued after the last wait is not among those in flight at it") {
  PipelineProgram program = onePerBlock();
  program.blocks[3].barrierBeforePreOps = true;
  program.blocks[7].barrierBeforePreOps = true;
  CHECK(required(program, pingPongConfig(4, 8)) == Waits{{0, 8}, {0, 8}});
  CHECK(compareWaits(program, pingPongConfig(4, 8))->unsafe()); // the formula says 12
}

TEST_CASE("a load for the next trip must be there when its half comes again") {
  // Half 1 has no load at all: at its end, what half 0 issued for itself is needed.
  PipelineProgram program = onePerBlock();
  for (std::size_t block = 4; block < 8; ++block) program.blocks[block].globalLoad = std::nullopt;
  const auto waits = requiredWaits(program, pingPongConfig(4, 8)).value();
  CHECK(waits.halves[0].waits.waitVmLast == 12);
  CHECK(waits.halves[1].waits.waitVmLast == 0);
  CHECK(waits.halves[1].load == loadB(0, 1));
  const WaitComparison comparison = compareWaits(program, pingPongConfig(4, 8)).value();
  CHECK(comparison.formula.waitVmLast == 0); // the least over the halves
  CHECK(comparison.halves[0].vm == WaitVerdict::Stronger);
  CHECK(comparison.halves[1].vm == WaitVerdict::Equal);
}

TEST_CASE("with one half every load is read in the next trip, which the formula forgets") {
  const PipelineProgram program{{{.globalLoad = loadA(0, 0)}, {.globalLoad = loadB(0, 0)}}};
  const PipelineConfig config{.numPartitions = 1, .vmPerLoadA = 4, .vmPerLoadB = 4};
  CHECK(required(program, config) == Waits{{15, 0}});
  const WaitComparison comparison = compareWaits(program, config).value();
  CHECK(comparison.formula == BlockWaits{0, 8});
  CHECK(comparison.halves[0].vm == WaitVerdict::Unsafe);
  CHECK(comparison.halves[0].lgkm == WaitVerdict::Stronger);
  CHECK(comparison.mostInFlight == 16); // from the second trip on
}

TEST_CASE("the one half reads all stages") {
  const PipelineProgram program{{{.preOp0 = fragmentA(1, 0)}}};
  CHECK(required(program, {.numPartitions = 1}) == Waits{{0, 63}});
}

TEST_CASE("where nothing has to be done, a wait may leave all that it can name") {
  const PipelineProgram program{{{}, {}}};
  CHECK(required(program, {}) == Waits{{15, 63}, {15, 63}});
  CHECK(required(program, {}, {.vm = 31, .lgkm = 7}) == Waits{{7, 31}, {7, 31}});
  CHECK(toText(*compareWaits(program, {})) ==
        "half 0, first block: lgkm 0 by formula, 15 required: stronger than needed; there is no "
        "fragment that must be done\n"
        "half 0, last block: vm 0 by formula, 63 required: stronger than needed; there is no load "
        "that must be done\n"
        "half 1, first block: lgkm 0 by formula, 15 required: stronger than needed; there is no "
        "fragment that must be done\n"
        "half 1, last block: vm 0 by formula, 63 required: stronger than needed; there is no load "
        "that must be done\n"
        "at most 0 entries of vm in flight by formula\n");
}

TEST_CASE("fragments that the first mma does not read may stay in flight") {
  PipelineProgram program = onePerBlock();
  for (const std::int32_t half : {0, 1}) {
    MmaBlock &first = program.blocks[static_cast<std::size_t>(4 * half)];
    first.preOp0 = fragmentA(half, 0);
    first.preOp1 = fragmentA(half, 1); // of row 1, and B's is from the trip before
  }
  PipelineConfig config = pingPongConfig(4, 8);
  config.lgkmPerLoadA = 6;
  for (MmaBlock &block : program.blocks) block.postBarrierLgkm = false;
  CHECK(required(program, config) == Waits{{6, 12}, {6, 12}});
  const WaitComparison comparison = compareWaits(program, config).value();
  CHECK(comparison.halves[0].lgkm == WaitVerdict::Equal);
  CHECK(comparison.halves[0].required.fragment == fragmentA(0, 0));
}

TEST_CASE("entries that are not said are waited for, and count as none of the younger ones") {
  PipelineProgram program = onePerBlock();
  for (const std::size_t first : {0U, 4U}) {
    MmaBlock &block = program.blocks[first];
    block.preOp1 = fragmentB(block.preOp0->stage, 1); // B's of column 0 is the needed one
    block.mma = mma(7, 0);
  }
  PipelineConfig config = pingPongConfig(4, 5);
  CHECK(required(program, config) == Waits{{5, 12}, {5, 12}});
  config.lgkmPerLoadA = config.lgkmPerLoadB = 0;
  CHECK(required(program, config) == Waits{{0, 12}, {0, 12}});
}

TEST_CASE("without a drain before the mma, the formula's first wait is unsafe") {
  PipelineProgram program = onePerBlock();
  CHECK(compareWaits(program, pingPongConfig(4, 8))->halves[0].lgkm == WaitVerdict::MadeGood);
  program.blocks[0].postBarrierLgkm = false;
  CHECK(compareWaits(program, pingPongConfig(4, 8))->halves[0].lgkm == WaitVerdict::Unsafe);
  program.blocks[0].postBarrierLgkm = true;
  program.blocks[0].preMmaBarrier = false; // and with it what stands behind it
  CHECK(compareWaits(program, pingPongConfig(4, 8))->halves[0].lgkm == WaitVerdict::Unsafe);
}

TEST_CASE("fragments that a flag drains need no wait") {
  PipelineProgram program = onePerBlock();
  program.blocks[0].drainLgkmBeforeLoads = true;
  CHECK(required(program, pingPongConfig(4, 8)) == Waits{{15, 12}, {0, 12}});
  program.blocks[0].globalBeforeFrag = true; // and so the drain too
  CHECK(required(program, pingPongConfig(4, 8)) == Waits{{0, 12}, {0, 12}});
}

TEST_CASE("counts beyond the fields are limited, and the formula's are named") {
  PipelineConfig config = pingPongConfig(32, 16);
  const WaitComparison comparison = compareWaits(onePerBlock(), config).value();
  CHECK(comparison.formula == BlockWaits{16, 96});
  CHECK(comparison.halves[0].required.waits.waitVmLast == 63);
  CHECK(comparison.halves[0].vm == WaitVerdict::Equal); // both are 63
  const std::string text = toText(comparison);
  CHECK(text.find("lgkm 16 by formula is more than a wait can name: 15\n"
                  "vm 96 by formula is more than a wait can name: 63\n") != std::string::npos);
}

TEST_CASE("loads in flight are counted over both halves") {
  CHECK(requiredWaits(onePerBlock(), pingPongConfig(4, 8))->mostInFlight == 28);
  CHECK(requiredWaits(onePerBlock(), pingPongConfig(2, 8))->mostInFlight == 14);
  CHECK(compareWaits(onePerBlock(), pingPongConfig(4, 8))->mostInFlight == 28);
  const std::string text = toText(*compareWaits(onePerBlock(), pingPongConfig(2, 8)));
  CHECK(text.ends_with("at most 14 entries of vm in flight by formula\n"));
  CHECK(
      toText(*compareWaits(onePerBlock(), pingPongConfig(2, 8), {.vmBeforeStall = 14}))
          .ends_with("at most 14 entries of vm in flight by formula: issuing stalls from 14 on\n"));
}

TEST_CASE("the required waits, applied, are found again") {
  PipelineProgram program = oneNoneTwoOne();
  const Waits waits = required(program, pingPongConfig(4, 4));
  REQUIRE(applyWaits(program, pingPongConfig(4, 4), waits).ok());
  CHECK(program.blocks[3].preSync == CounterWait{.vm = 12});
  CHECK(required(program, pingPongConfig(4, 4)) == waits);
}

TEST_CASE("what two waits of a half cannot make safe is refused") {
  PipelineProgram program = onePerBlock();
  const PipelineConfig config = pingPongConfig(4, 8);
  const auto refusal = [&] { return render(requiredWaits(program, config).error()); };

  program.blocks[1].globalLoad->channel = BlockChannel::None;
  CHECK(refusal() ==
        "imbrex: error: LB[0,0]@K0 in half 0 of a block program says not of which matrix it is\n"
        "  hint: give it a channel: the count of its entries follows from it\n");

  program = onePerBlock();
  program.blocks[5].preOp1 = fragmentA(0, 0);
  CHECK(refusal() ==
        "imbrex: error: FA[0,0] in half 1 of a block program reads a stage that is another half's\n"
        "  hint: no wait at the ends of halves covers it; load it in the half of its stage\n");
  CHECK_FALSE(compareWaits(program, config).ok());

  program = onePerBlock();
  program.blocks[3].barrierBeforePreOps = true;
  program.blocks[3].globalLoad1 = loadA(1, 1);
  CHECK(refusal() ==
        "imbrex: error: LA[1,1]@K0 in half 0 of a block program is issued after the wait for vm of "
        "the last block, which must cover it\n"
        "  hint: issue it in front of the barrier, or in another block\n");

  program = onePerBlock();
  program.blocks[4].barrierBeforePreOps = true;
  CHECK(refusal() ==
        "imbrex: error: FB[1,0] in half 1 of a block program is issued after the wait for lgkm of "
        "the first block, which must cover it\n"
        "  hint: issue it in front of the barrier, or in another block\n");
  program.blocks.pop_back();
  CHECK_FALSE(requiredWaits(program, config).ok());
}

TEST_CASE("a wait for fragments at the entry covers none of its own block") {
  PipelineProgram program = onePerBlock();
  PipelineConfig config = pingPongConfig(4, 8);
  config.minimalBarriers = true;
  CHECK(requiredWaits(program, config).ok());
  program.blocks[0].entryWait.vm = 12;
  CHECK_FALSE(requiredWaits(program, config).ok());
  program.blocks[0].preOp0 = program.blocks[0].preOp1 = std::nullopt;
  CHECK(requiredWaits(program, config).ok());
}

TEST_CASE("the program that docs/block-waits.md shows prints what the page says") {
  const auto half = [](std::int32_t h) {
    return MmaBlock{
        .preOp0 = OpDesc{.tag = OpTag::FragmentA, .stage = h, .channel = BlockChannel::A},
        .preOp1 = OpDesc{.tag = OpTag::FragmentB, .stage = h, .channel = BlockChannel::B},
        .globalLoad = OpDesc{OpTag::LoadA, 1 - h, 0, KOffset::Previous, BlockChannel::A},
        .globalLoad1 = OpDesc{OpTag::LoadB, h, 0, KOffset::K0, BlockChannel::B}};
  };
  const PipelineConfig config{
      .vmPerLoadA = 4, .vmPerLoadB = 4, .lgkmPerLoadA = 8, .lgkmPerLoadB = 8};
  const std::string text = toText(compareWaits({.blocks = {half(0), half(1)}}, config).value());
  const std::string firstHalf = text.substr(0, text.find("half 1"));
  std::ifstream file("../../../docs/block-waits.md");
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  CHECK(firstHalf.starts_with("half 0, first block: "));
  CHECK(page.find("```\n" + firstHalf) != std::string::npos);
}
