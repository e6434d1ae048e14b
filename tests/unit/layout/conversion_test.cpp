#include "backend/layout/algebra.h"
#include "backend/layout/conversion.h"
#include "backend/layout/layout_text.h"
#include "tests/unit/layout/random_layout.h"
#include "tests/unit/layout/thread_bits.h"

#include <doctest/doctest.h>

#include <bit>
#include <set>

namespace imbrex::layout {
namespace {

/// registers[thread][register]: which element is there.
using Block = std::vector<std::vector<Bits>>;

Block filled(const LinearLayout &layout) {
  Block block(std::size_t{1} << threadBits(layout));
  for (Bits thread = 0; thread < block.size(); ++thread)
    for (Bits r = 0; r >> layout.inputBits(Dim::Register) == 0; ++r)
      block[thread].push_back(layout.apply(r | thread << layout.inputBits(Dim::Register)));
  return block;
}

/// Carries out one step as its comment says, thread by thread.
struct Machine {
  const Block &block;
  std::int32_t laneBits;

  Block operator()(const RenameStep &step) const {
    Block next(block.size());
    for (std::size_t thread = 0; thread < block.size(); ++thread)
      for (const std::int32_t source : step.sources)
        next[thread].push_back(block[thread].at(static_cast<std::size_t>(source)));
    return next;
  }
  Block operator()(const SelectStep &step) const {
    Block next(block.size());
    for (std::size_t thread = 0; thread < block.size(); ++thread)
      for (std::size_t i = 0; i < step.sources.size(); ++i) {
        const bool isOdd = std::popcount(thread & step.threadMask) % 2 == 1;
        const std::int32_t source = isOdd ? step.others[i] : step.sources[i];
        next[thread].push_back(block[thread].at(static_cast<std::size_t>(source)));
      }
    return next;
  }
  Block operator()(const ShuffleStep &step) const {
    Block next(block.size());
    for (std::size_t thread = 0; thread < block.size(); ++thread)
      for (std::size_t i = 0; i < step.sources.size(); ++i) {
        std::size_t lane = step.laneMasks[i];
        for (std::size_t bit = 0; bit < step.laneColumns.size(); ++bit)
          if ((thread >> bit & 1) != 0) lane ^= step.laneColumns[bit];
        const std::size_t warpStart = thread >> laneBits << laneBits;
        const std::size_t xored = warpStart + ((thread - warpStart) ^ step.laneMasks[i]);
        if (step.isXor) REQUIRE(warpStart + lane == xored);
        next[thread].push_back(
            block.at(warpStart + lane).at(static_cast<std::size_t>(step.sources[i])));
      }
    return next;
  }
};

Block carriedOut(const std::vector<ConversionStep> &steps, const LinearLayout &from) {
  Block block = filled(from);
  for (const ConversionStep &step : steps)
    block = std::visit(Machine{block, from.inputBits(Dim::Lane)}, step);
  return block;
}

/// Whether each thread (or each warp) has every element that it wants, by looking.
bool haveWanted(const LinearLayout &from, const LinearLayout &wanted, std::int32_t groupBits) {
  const Block has = filled(from), wants = filled(wanted);
  for (std::size_t group = 0; group < has.size() >> groupBits; ++group) {
    std::set<Bits> held;
    for (std::size_t i = 0; i >> groupBits == 0; ++i)
      held.insert(has[(group << groupBits) + i].begin(), has[(group << groupBits) + i].end());
    for (std::size_t i = 0; i >> groupBits == 0; ++i)
      for (const Bits element : wants[(group << groupBits) + i])
        if (!held.contains(element)) return false;
  }
  return true;
}

/// Whether every warp wants all of its elements.
bool wantsAll(const LinearLayout &from, const LinearLayout &wanted) {
  const auto inWarp = [](const LinearLayout &layout) {
    return rank(layout.columns().drop_back(static_cast<std::size_t>(layout.inputBits(Dim::Warp))));
  };
  return inWarp(from) == inWarp(wanted);
}

/// Every promise of a plan between two layouts.
void checkConversion(const LinearLayout &from, const LinearLayout &wanted) {
  CAPTURE(toText(from));
  CAPTURE(toText(wanted));
  const auto steps = planWithinWarps(from, wanted);
  const bool inWarps = haveWanted(from, wanted, from.inputBits(Dim::Lane));
  CHECK(steps.has_value() == inWarps);
  const ConversionPlan plan = planConversion(from, wanted);
  if (steps) {
    CHECK(carriedOut(*steps, from) == filled(wanted));
    const auto registers = std::int64_t{1} << wanted.inputBits(Dim::Register);
    // Where a warp wants as many elements as it has, they cannot crowd.
    if (wantsAll(from, wanted)) CHECK(countSteps(*steps).shuffles <= registers);
  }
  if (plan.kind != ConversionKind::Shared) CHECK(carriedOut(plan.steps, from) == filled(wanted));
  const bool inThreads = haveWanted(from, wanted, 0);
  CHECK((plan.kind <= ConversionKind::Registers) == inThreads);
  CHECK((plan.kind == ConversionKind::None) == (filled(from) == filled(wanted)));
}

/// Layouts of threads with any columns that reach every element, so mostly not one-hot.
LinearLayout randomSurjection(std::mt19937_64 &rng, std::int32_t tileBits) {
  for (;;) {
    const LinearLayout layout =
        randomLayout(rng, {{Dim::Register, between(rng, 0, 4)}, {Dim::Lane, 2}, {Dim::Warp, 1}},
                     {{Dim::Axis0, tileBits}});
    if (isSurjective(layout)) return layout;
  }
}

} // namespace

TEST_CASE("equal layouts need no conversion, and other registers of the thread only new names") {
  const auto rows = parseLayout("register [[0,1],[1,0]] lane [[0,2]] warp [] of [2x4]");
  const auto columns = parseLayout("register [[1,0],[0,1]] lane [[0,2]] warp [] of [2x4]");
  CHECK(toText(planConversion(*rows, *rows)) == "nothing to do");
  const ConversionPlan plan = planConversion(*rows, *columns);
  CHECK(toText(plan) == "registers of the thread");
  REQUIRE(plan.steps.size() == 1);
  CHECK(std::get<RenameStep>(plan.steps[0]).sources == std::vector<std::int32_t>{0, 2, 1, 3});
}

TEST_CASE("two lanes and two registers are transposed by one shuffle") {
  const auto from = parseLayout("register [[0,1]] lane [[1,0]] warp [] of [2x2]");
  const auto to = parseLayout("register [[1,0]] lane [[0,1]] warp [] of [2x2]");
  const ConversionPlan plan = planConversion(*from, *to);
  CHECK(toText(plan) == "1 shuffles, 4 selects");
  CHECK(carriedOut(plan.steps, *from) == filled(*to));
  REQUIRE(plan.steps.size() == 3);
  CHECK(std::get<ShuffleStep>(plan.steps[1]).isXor);
}

TEST_CASE("lanes that change places with lanes need one shuffle by lane number per register") {
  const auto from = parseLayout("register [[4]] lane [[1],[2]] warp [] of [8]");
  const auto to = parseLayout("register [[4]] lane [[2],[1]] warp [] of [8]");
  const ConversionPlan plan = planConversion(*from, *to);
  CHECK(toText(plan) == "2 shuffles");
  REQUIRE(plan.steps.size() == 1);
  const auto &shuffle = std::get<ShuffleStep>(plan.steps[0]);
  CHECK_FALSE(shuffle.isXor);
  CHECK(shuffle.laneColumns == std::vector<std::uint32_t>{2, 1});
}

TEST_CASE("what another warp has comes through shared memory, and so does what is dear in lanes") {
  const auto rows = parseLayout("register [] lane [[1]] warp [[2]] of [4]");
  const auto swapped = parseLayout("register [] lane [[2]] warp [[1]] of [4]");
  CHECK(toText(planConversion(*rows, *swapped)) == "through shared memory");
  const Threads warp{.lanes = 32, .warps = 1};
  const LinearLayout from = blockedLayout({32, 32}, warp, 1, {1, 0});
  const LinearLayout to = blockedLayout({32, 32}, warp, 1, {0, 1});
  CHECK(planConversion(from, to).kind == ConversionKind::Shared);
  const auto steps = planWithinWarps(from, to);
  REQUIRE(steps);
  CHECK(countSteps(*steps).shuffles == 31);
  CHECK(carriedOut(*steps, from) == filled(to));
}

TEST_CASE("blocked layouts of one tile are converted right, in the cheapest kind of place") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const auto extents = randomExtents(rng, 7);
    const Threads threads{.lanes = 1 << between(rng, 0, 3), .warps = 1 << between(rng, 0, 1)};
    checkConversion(randomBlocked(rng, extents, threads), randomBlocked(rng, extents, threads));
  }
}

TEST_CASE(
    "layouts of any columns are converted right: copies, swizzles, more and fewer registers") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const std::int32_t tileBits = between(rng, 1, 4);
    checkConversion(randomSurjection(rng, tileBits), randomSurjection(rng, tileBits));
  }
}

TEST_CASE("a part of a tile is converted right too") {
  std::int32_t planned = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const LinearLayout from = randomSurjection(rng, 3);
    const LinearLayout wanted =
        randomLayout(rng, {{Dim::Register, between(rng, 0, 2)}, {Dim::Lane, 2}, {Dim::Warp, 1}},
                     {{Dim::Axis0, 3}});
    checkConversion(from, wanted);
    planned += planWithinWarps(from, wanted) ? 1 : 0;
  }
  CHECK(planned > 100);
}

TEST_CASE("every bijection of a register bit and two lane bits onto another is converted right") {
  const Sides places{{Dim::Register, 1}, {Dim::Lane, 2}, {Dim::Warp, 0}};
  const LinearLayout from(places, {{Dim::Axis0, 3}}, {1, 2, 4});
  for (Bits all = 0; all < 512; ++all) {
    const LinearLayout wanted(places, {{Dim::Axis0, 3}}, {all & 7, all >> 3 & 7, all >> 6});
    checkConversion(from, wanted);
  }
}

/// Of one tile, on the same threads.
std::pair<LinearLayout, LinearLayout> randomBlockedPair(std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  const auto extents = randomExtents(rng, 6);
  const Threads threads{.lanes = 4, .warps = 2};
  LinearLayout from = randomBlocked(rng, extents, threads);
  return {std::move(from), randomBlocked(rng, extents, threads)};
}

TEST_CASE("what crosses lanes does so in words as well, of which the register is in both layouts") {
  std::int32_t found = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const auto [from, wanted] = randomBlockedPair(seed);
    const auto word = wordRegister(from, wanted);
    CHECK(word.has_value() == !commonRegisters(from, wanted).empty());
    if (!word || !planWithinWarps(from, wanted)) continue;
    ++found;
    for (const CommonRegister &other : commonRegisters(from, wanted))
      CHECK(word->wanted <= other.wanted);
    checkConversion(withoutCommonRegister(from, word->output, word->from),
                    withoutCommonRegister(wanted, word->output, word->wanted));
    CHECK(planWithinWarps(withoutCommonRegister(from, word->output, word->from),
                          withoutCommonRegister(wanted, word->output, word->wanted)));
  }
  CHECK(found > 30);
}

TEST_CASE("the halves that a common register tells apart are the tile") {
  std::int32_t found = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const auto [from, wanted] = randomBlockedPair(seed);
    const auto cuts = commonRegisters(from, wanted);
    if (cuts.empty()) continue;
    const auto &cut = cuts.front();
    ++found;
    for (const auto &[layout, bit] : {std::pair(from, cut.from), std::pair(wanted, cut.wanted)}) {
      const LinearLayout half = withoutCommonRegister(layout, cut.output, bit);
      CHECK(isTileLayout(half));
      const auto spread = [](Bits number, Bits at) {
        return (number & (at - 1)) | (number & ~(at - 1)) << 1;
      };
      for (Bits x = 0; x >> half.inputBits() == 0; ++x) {
        const Bits at = Bits{1} << (layout.inputShift(Dim::Register) + bit);
        const Bits place = spread(half.apply(x), cut.output);
        CHECK(layout.apply(spread(x, at)) == place);
        CHECK(layout.apply(spread(x, at) | at) == (place | cut.output));
      }
    }
  }
  CHECK(found > 100);
}

} // namespace imbrex::layout
