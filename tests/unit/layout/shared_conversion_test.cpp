#include "backend/layout/algebra.h"
#include "backend/layout/layout_text.h"
#include "backend/layout/shared_conversion.h"
#include "tests/unit/layout/random_layout.h"
#include "tests/unit/layout/tile_access.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

namespace imbrex::layout {
namespace {

/// Which lanes are served together, lane by lane, as the documents list them.
std::vector<std::vector<Bits>> servedTogether(const SharedMemoryModel &memory, bool inOrder,
                                              std::int64_t bytes) {
  const std::int64_t perPart =
      std::min<std::int64_t>(memory.lanes, memory.banks * 4 / std::max<std::int64_t>(bytes, 4));
  std::vector<std::vector<Bits>> parts(static_cast<std::size_t>(memory.lanes / perPart));
  for (Bits i = 0; i < static_cast<Bits>(memory.lanes); ++i) {
    const Bits lane = inOrder ? i : multiply(memory.wideReadLanes, i);
    parts[i / static_cast<Bits>(perPart)].push_back(lane);
  }
  return parts;
}

/// The cycles of one warp by simulation: every access, every part, every bank's different words.
std::int64_t simulatedCycles(const LinearLayout &offsets, const RegisterVectors &vectors,
                             AccessKind kind, std::int64_t elementBytes,
                             const SharedMemoryModel &memory) {
  const std::int64_t bytes = vectors.width * elementBytes;
  const bool inOrder = memory.wideReadLanes.empty() || kind == AccessKind::Write || bytes != 16;
  const std::int32_t registerBits = offsets.inputBits(Dim::Register);
  std::int64_t cycles = 0;
  for (std::size_t v = 0; v < vectors.registers.size();
       v += static_cast<std::size_t>(vectors.width))
    for (const auto &lanes : servedTogether(memory, inOrder, bytes)) {
      std::map<std::int64_t, std::set<std::int64_t>> wordsOfBank;
      for (const Bits lane : lanes) {
        const Bits first =
            offsets.apply(static_cast<Bits>(vectors.registers[v]) | lane << registerBits);
        for (std::int64_t byte = 0; byte < bytes; ++byte) {
          const std::int64_t word = (static_cast<std::int64_t>(first) * elementBytes + byte) / 4;
          wordsOfBank[word % memory.banks].insert(word);
        }
      }
      std::size_t most = 0;
      for (const auto &[bank, words] : wordsOfBank) most = std::max(most, words.size());
      cycles += static_cast<std::int64_t>(most);
    }
  return cycles;
}

/// Writes a tile and reads it, place by place; whether every reader finds its element.
bool arrivesWhole(const SharedConversion &plan, const LinearLayout &write,
                  const LinearLayout &read) {
  std::map<Bits, Bits> memory;
  for (Bits place = 0; place >> write.inputBits() == 0; ++place) {
    const Bits offset = plan.writeOffsets.apply(place);
    const auto [at, isNew] = memory.emplace(offset, write.apply(place));
    if (!isNew && at->second != write.apply(place)) return false;
  }
  for (Bits place = 0; place >> read.inputBits() == 0; ++place)
    if (memory.at(plan.readOffsets.apply(place)) != read.apply(place)) return false;
  return true;
}

void checkCost(const SharedConversion &plan, const LinearLayout &write, const LinearLayout &read,
               std::int32_t elementBytes, const SharedMemoryModel &memory) {
  CHECK(plan.writeCost.cycles ==
        simulatedCycles(plan.writeOffsets, plan.writes, AccessKind::Write, elementBytes, memory));
  CHECK(plan.readCost.cycles ==
        simulatedCycles(plan.readOffsets, plan.reads, AccessKind::Read, elementBytes, memory));
  CHECK(plan.writes.width * elementBytes <= 16);
  CHECK(plan.reads.width * elementBytes <= 16);
  CHECK(isBijective(plan.shared));
  CHECK(arrivesWhole(plan, write, read));
}

constexpr std::array<std::int32_t, 5> kElementBytes{1, 2, 4, 8, 16};

/// The machines that there are: a warp of 32 or 64, banks of 32 or 64, and one that serves wide
/// reads in another order.
const std::array<SharedMemoryModel, 4> kMemories{
    SharedMemoryModel{},
    {.banks = 32, .lanes = 64},
    {.banks = 64, .lanes = 64},
    {.banks = 32, .lanes = 64, .wideReadLanes = {1, 2, 20, 8, 16, 32}}};

} // namespace

TEST_CASE("a column of a row-major tile is all in one bank, and a swizzle spreads it") {
  const Sides tile = tileSides({32, 32});
  const LinearLayout rowMajor({{Dim::Offset, 10}}, tile, unitVectors(10));
  const auto column = parseLayout("register [[0,1],[0,2],[0,4],[0,8],[0,16]] "
                                  "lane [[1,0],[2,0],[4,0],[8,0],[16,0]] warp [] of [32x32]");
  const TileAccess access{
      .kind = AccessKind::Read, .places = *column, .elementBytes = 4, .vectorElements = 1};
  CHECK(bankConflicts(rowMajor, access, {}) ==
        AccessCost{.accesses = 32, .cycles = 32 * 32, .leastCycles = 32});
  const auto swizzled = parseLayout("offset [[0,1],[0,2],[0,4],[0,8],[0,16],"
                                    "[1,1],[2,2],[4,4],[8,8],[16,16]] of [32x32]");
  CHECK(bankConflicts(*swizzled, access, {}).conflicts() == 0);
}

TEST_CASE("lanes that want the same word, or bytes of one, are not in each other's way") {
  const LinearLayout shared({{Dim::Offset, 7}}, tileSides({128}), unitVectors(7));
  const auto cost = [&](const char *places, std::int32_t bytes, std::int64_t vector) {
    const auto layout = parseLayout(places);
    return bankConflicts(shared, {AccessKind::Read, *layout, bytes, vector}, {});
  };
  CHECK(cost("register [] lane [[0],[0],[0],[0],[0]] warp [] of [128]", 4, 1).conflicts() == 0);
  CHECK(cost("register [] lane [[1],[2],[4],[8],[16]] warp [] of [128]", 1, 1).conflicts() == 0);
  CHECK(cost("register [] lane [[32],[64],[0],[0],[0]] warp [] of [128]", 4, 1).cycles == 4);
  // 16 bytes a lane: a quarter of a warp at a time, without conflict.
  CHECK(cost("register [[1],[2]] lane [[4],[8],[16],[32],[64]] warp [] of [128]", 4, 4) ==
        AccessCost{.accesses = 1, .cycles = 4, .leastCycles = 4});
}

TEST_CASE("the counted cycles are those of a simulation, for any layout of the shared memory") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const SharedMemoryModel &memory = kMemories[seed % kMemories.size()];
    const std::int32_t elementBytes = kElementBytes[seed / 4 % 5];
    const auto extents = randomExtents(rng, 9);
    LinearLayout shared;
    do shared = randomLayout(rng, {{Dim::Offset, tileBits(extents)}}, tileSides(extents));
    while (!isBijective(shared));
    if (rng() % 2 == 0) // so that vectors are found, too
      shared = LinearLayout(Sides(shared.inputs()), Sides(shared.outputs()),
                            unitVectors(shared.outputBits()));
    const LinearLayout places =
        randomBlocked(rng, extents, {.lanes = memory.lanes, .warps = 1 << between(rng, 0, 1)});
    CAPTURE(toText(places));
    CAPTURE(toText(shared));
    const LinearLayout offsets = compose(inverse(shared), places);
    const RegisterVectors vectors = contiguousRegisters(offsets, 16 / elementBytes);
    for (const AccessKind kind : {AccessKind::Read, AccessKind::Write}) {
      const AccessCost cost =
          bankConflicts(shared, {kind, places, elementBytes, vectors.width}, memory);
      CHECK(cost.cycles == simulatedCycles(offsets, vectors, kind, elementBytes, memory));
      CHECK(cost.accesses * vectors.width == registerCount(places));
      CHECK(cost.conflicts() >= 0);
    }
  }
}

TEST_CASE("between blocked layouts there is no conflict on either side, whatever they are") {
  std::int32_t wide = 0; // one side moves as much at a time as its registers allow
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const SharedMemoryModel &memory = kMemories[seed % kMemories.size()];
    const std::int32_t elementBytes = kElementBytes[seed / 4 % 5];
    const auto extents = randomExtents(rng, 11);
    const Threads threads{.lanes = memory.lanes, .warps = 1 << between(rng, 0, 2)};
    const LinearLayout write = randomBlocked(rng, extents, threads);
    const LinearLayout read = randomBlocked(rng, extents, threads);
    CAPTURE(toText(write));
    CAPTURE(toText(read));
    const auto checked = [&](ReadOrder order) {
      const SharedConversion plan = planSharedConversion(write, read, elementBytes, memory, order);
      CAPTURE(toText(plan.shared));
      checkCost(plan, write, read, elementBytes, memory);
      CHECK(plan.writeCost.conflicts() == 0);
      CHECK(plan.readCost.conflicts() == 0);
      return plan;
    };
    checked(ReadOrder::Registers);
    const SharedConversion plan = checked(ReadOrder::Elements);
    const std::int64_t most = std::max(registerCount(write), registerCount(read));
    const bool isWide = std::max(plan.writes.width, plan.reads.width) ==
                        std::min<std::int64_t>(16 / elementBytes, most);
    wide += isWide ? 1 : 0;
  }
  // In nine cases the lanes of one side are the vectors of the other so that both cannot be had.
  CHECK(wide == 991);
}

TEST_CASE("a vector that readers alone want fills their registers in order, if that is asked for") {
  // Of 16 x 32 elements writers have four of a column, readers eight of it, and of the next but 15.
  const Sides threads{{Dim::Register, 2}, {Dim::Lane, 5}, {Dim::Warp, 2}};
  const LinearLayout write(threads, tileSides({16, 32}), {32, 64, 1, 2, 4, 8, 16, 128, 256});
  const LinearLayout read({{Dim::Register, 4}, {Dim::Lane, 5}, {Dim::Warp, 2}}, tileSides({16, 32}),
                          {32, 64, 128, 16, 1, 2, 4, 8, 256, 0, 0});
  for (const ReadOrder order : {ReadOrder::Elements, ReadOrder::Registers}) {
    const SharedConversion plan = planSharedConversion(write, read, 1, {}, order);
    CAPTURE(toText(plan.shared));
    CHECK(plan.writeCost.conflicts() + plan.readCost.conflicts() == 0);
    REQUIRE(plan.reads.width >= 8);
    CHECK((plan.reads.registers[4] == 4) == (order == ReadOrder::Registers));
  }
}

TEST_CASE("what both sides have in registers moves in vectors on both sides") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const std::int32_t elementBytes = kElementBytes[seed % 5];
    const auto extents = randomExtents(rng, 10);
    const Threads threads{.lanes = 32, .warps = 1 << between(rng, 0, 2)};
    const LinearLayout write = randomBlocked(rng, extents, threads);
    const LinearLayout read = randomBlocked(rng, extents, threads);
    const SharedConversion plan = planSharedConversion(write, read, elementBytes, {});
    const std::size_t common =
        intersection(write.columns(Dim::Register), read.columns(Dim::Register)).size();
    const std::int64_t expected =
        std::min<std::int64_t>(16 / elementBytes, std::int64_t{1} << common);
    CHECK(plan.writes.width >= expected);
    CHECK(plan.reads.width >= expected);
  }
}

TEST_CASE(
    "layouts with sums of bits in their columns arrive whole, and their cost is the real one") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const SharedMemoryModel &memory = kMemories[seed % 2];
    const std::int32_t elementBytes = kElementBytes[seed / 4 % 5];
    const Sides tile{{Dim::Axis0, between(rng, 3, 8)}};
    const auto any = [&] {
      LinearLayout layout;
      do
        layout = randomLayout(
            rng, {{Dim::Register, 3}, {Dim::Lane, memory.lanes == 64 ? 6 : 5}, {Dim::Warp, 1}},
            tile);
      while (!isSurjective(layout));
      return layout;
    };
    const LinearLayout write = any(), read = any();
    checkCost(planSharedConversion(write, read, elementBytes, memory), write, read, elementBytes,
              memory);
  }
}

TEST_CASE(
    "bytes of a word that one side has in registers and the other in warps cause no conflict") {
  const Threads threads{.lanes = 32, .warps = 16};
  const LinearLayout write = blockedLayout({16, 64}, threads, 16, {0, 1});
  const LinearLayout read = blockedLayout({16, 64}, threads, 1, {1, 0});
  const SharedConversion plan = planSharedConversion(write, read, 1, {});
  CHECK(plan.writes.width == 4);
  CHECK(plan.reads.width == 2);
  CHECK(plan.writeCost.conflicts() + plan.readCost.conflicts() == 0);
}

TEST_CASE("a transpose of f32 through shared memory: wide writes, narrow reads, no conflict") {
  const Threads threads{.lanes = 32, .warps = 4};
  const LinearLayout rows = blockedLayout({64, 64}, threads, 4, {1, 0});
  const LinearLayout columns = blockedLayout({64, 64}, threads, 4, {0, 1});
  const SharedConversion plan = planSharedConversion(rows, columns, 4, {});
  CHECK(plan.writeCost.conflicts() + plan.readCost.conflicts() == 0);
  CHECK(std::max(plan.writes.width, plan.reads.width) == 4);
}

} // namespace imbrex::layout
