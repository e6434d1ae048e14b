#include "backend/layout/algebra.h"
#include "backend/layout/layout_text.h"
#include "backend/layout/slot_layout.h"
#include "tests/unit/layout/random_layout.h"
#include "tests/unit/layout/tile_access.h"

#include <doctest/doctest.h>

#include <map>

namespace imbrex::layout {
namespace {

/// Fills a slot copy by copy, as neighbours from the first one's offset on; whether each element
/// comes to lie where the slot has it.
bool copiesAreWhole(const LinearLayout &slot, const LinearLayout &write,
                    const RegisterVectors &copies) {
  const LinearLayout offsets = compose(inverse(slot), write);
  const std::int32_t registerBits = write.inputBits(Dim::Register);
  const auto width = static_cast<std::size_t>(copies.width);
  for (Bits thread = 0; thread >> (write.inputBits() - registerBits) == 0; ++thread)
    for (std::size_t i = 0; i < copies.registers.size(); ++i) {
      const auto at = [&](std::size_t r) {
        return static_cast<Bits>(copies.registers[r]) | thread << registerBits;
      };
      const Bits first = offsets.apply(at(i - i % width));
      if (first % width != 0) return false;
      if (slot.apply(first + i % width) != write.apply(at(i))) return false;
    }
  return true;
}

/// Whether every thread finds its elements, from any place on, in vectors that begin at multiples
/// of their width.
bool readsAreRight(const LinearLayout &slot, const LinearLayout &read, std::int32_t elementBytes) {
  for (const Bits first : {Bits{0}, Bits{1}, Bits{1} << slot.outputBits() >> 1}) {
    if (first >> slot.outputBits() != 0) continue;
    const SlotReads reads = slotReads(slot, read, first);
    for (Bits place = 0; place >> read.inputBits() == 0; ++place)
      if (slot.apply(reads.offsets.apply(place) ^ reads.first) != (read.apply(place) ^ first))
        return false;
    const RegisterVectors vectors = reads.vectors(16 / elementBytes);
    const auto width = static_cast<std::size_t>(vectors.width);
    for (std::size_t i = 0; i < vectors.registers.size(); ++i) {
      const auto at = [&](std::size_t j) {
        return reads.offsetOf(static_cast<Bits>(vectors.registers[j]));
      };
      if (at(i) != at(i - i % width) + i % width || at(i - i % width) % width != 0) return false;
    }
  }
  return true;
}

/// A tile of elements of so many bytes, as those have it who fill a slot and those who read it.
struct RandomTile {
  LinearLayout write, read;
  std::int32_t bytes;
  std::int32_t axis; // of the writers' neighbours
};

RandomTile randomTile(std::mt19937_64 &rng, std::int32_t lanes) {
  auto extents = randomExtents(rng, 9);
  if (extents.empty()) extents.push_back(16);
  const Threads threads{.lanes = lanes, .warps = 1 << between(rng, 0, 2)};
  LinearLayout write = randomBlocked(rng, extents, threads);
  LinearLayout read = randomBlocked(rng, extents, threads);
  const std::int32_t axis = axisOfNeighbours(write, static_cast<std::int32_t>(extents.size()));
  return {std::move(write), std::move(read), 1 << between(rng, 0, 3), axis};
}

} // namespace

TEST_CASE("copies stay whole in a slot, and whoever reads it finds every element") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const auto [write, read, bytes, axis] = randomTile(rng, 32);
    CAPTURE(toText(write));
    CAPTURE(toText(read));
    const RegisterVectors copies = contiguousRegisters(
        write, axisDim(axis), std::max<std::int64_t>(1, (16 / bytes) >> between(rng, 0, 2)));
    const LinearLayout slot = planSlot(write, copies, read, bytes, {});
    CHECK(isBijective(slot));
    CHECK(copiesAreWhole(slot, write, copies));
    CHECK(readsAreRight(slot, read, bytes));
    CHECK(readsAreRight(slot, write, bytes));
  }
}

TEST_CASE("a slot in lane order has what a warp copies side by side, and all find every element") {
  int inOrder = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const auto [write, read, bytes, axis] = randomTile(rng, 8);
    CAPTURE(toText(write));
    if (copyBits(write, Dim::Lane) != 0) continue; // two lanes have one element
    ++inOrder;
    const RegisterVectors copies = contiguousRegisters(write, axisDim(axis), 16 / bytes);
    const LinearLayout slot = planSlotInLaneOrder(write, copies);
    CHECK(isBijective(slot));
    CHECK(copiesAreWhole(slot, write, copies));
    const LinearLayout offsets = compose(inverse(slot), write);
    for (Bits lane = 0; lane < 8; ++lane)
      CHECK(offsets.apply(Dim::Lane, lane) == lane * static_cast<Bits>(copies.width));
    // The rest neither begins within what a warp copies nor lies in it.
    const Bits ofWarp = 8 * static_cast<Bits>(copies.width);
    for (const Bits column : offsets.columns(Dim::Warp)) CHECK(column % ofWarp == 0);
    for (std::size_t i = 0; i < copies.registers.size();
         i += static_cast<std::size_t>(copies.width))
      CHECK(offsets.apply(Dim::Register, static_cast<Bits>(copies.registers[i])) % ofWarp == 0);
    CHECK(readsAreRight(slot, read, bytes));
  }
  CHECK(inOrder > 100);
}

TEST_CASE("in lane order, a warp whose place is a sum of bits begins behind what lanes copy") {
  const auto write =
      parseLayout("register [[0,1],[0,2]] lane [[0,4],[0,8],[0,16],[1,0],[2,0],[4,0]] "
                  "warp [[9,0],[0,0]] of [16x32]");
  REQUIRE(write);
  const RegisterVectors copies = contiguousRegisters(*write, axisDim(1), 4);
  const LinearLayout slot = planSlotInLaneOrder(*write, copies);
  CHECK(isBijective(slot));
  const LinearLayout offsets = compose(inverse(slot), *write);
  for (Bits lane = 0; lane < 64; ++lane) CHECK(offsets.apply(Dim::Lane, lane) == lane * 4);
  for (const Bits column : offsets.columns(Dim::Warp)) CHECK(column % 256 == 0);
}

TEST_CASE(
    "a swizzled slot is in lane order for what its lanes bring, and is read without conflicts") {
  const SharedMemoryModel memory{.banks = 64, .lanes = 64};
  // The a of a product, f16[128x32] with k last, copied by 16 bytes; lanes read rows four apart.
  const auto write =
      parseLayout("register [[0,1],[0,2],[0,4],[64,0]] lane [[0,8],[0,16],[1,0],[2,0],[4,0],[8,0]] "
                  "warp [[16,0],[32,0]] of [128x32]");
  const auto read = parseLayout("register [[0,1],[0,2],[1,0],[2,0]] "
                                "lane [[0,0],[0,0],[0,0],[4,0],[8,0],[16,0]] "
                                "warp [[0,0],[32,0]] of [128x32]");
  REQUIRE(write);
  REQUIRE(read);
  const RegisterVectors copies = contiguousRegisters(*write, axisDim(1), 8);
  const auto slot = planSwizzledSlot(*write, copies, *read, 2, memory);
  REQUIRE(slot);
  CHECK(isBijective(slot->shared));
  CHECK(isBijective(slot->write));
  CHECK(slot->write != *write);
  const LinearLayout offsets = compose(inverse(slot->shared), slot->write);
  for (Bits lane = 0; lane < 64; ++lane) CHECK(offsets.apply(Dim::Lane, lane) == 8 * lane);
  CHECK(copiesAreWhole(slot->shared, slot->write, copies));
  CHECK(readsAreRight(slot->shared, *read, 2));
  const std::int64_t width = slotReads(slot->shared, *read).vectors(8).width;
  CHECK(bankConflicts(slot->shared, {AccessKind::Read, *read, 2, width}, memory).conflicts() == 0);
  CHECK(bankConflicts(planSlotInLaneOrder(*write, copies), {AccessKind::Read, *read, 2, width},
                      memory)
            .conflicts() > 0);
}

TEST_CASE(
    "a slot for rows of 128 bytes, copied by 16 and read column by column, has no conflicts") {
  const auto write =
      parseLayout("register [[0,1],[0,2],[0,4]] lane [[0,8],[0,16],[0,32],[1,0],[2,0]] "
                  "warp [[4,0],[8,0]] of [16x64]");
  const auto read = parseLayout("register [[0,1],[0,2],[0,4]] lane [[1,0],[2,0],[4,0],[8,0],[0,8]] "
                                "warp [[0,16],[0,32]] of [16x64]");
  const RegisterVectors copies = contiguousRegisters(*write, axisDim(1), 8);
  REQUIRE(copies.width == 8);
  const LinearLayout slot = planSlot(*write, copies, *read, 2, {});
  CHECK(slotReads(slot, *read).vectors(8).width == 8);
  CHECK(bankConflicts(slot, {AccessKind::Read, *read, 2, 8}, {}).conflicts() == 0);
  CHECK(bankConflicts(slot, {AccessKind::Write, *write, 2, 8}, {}).conflicts() == 0);
}

TEST_CASE("the axis of neighbours is the one along which a thread holds them, or the last") {
  const auto axis = [](const char *text) { return axisOfNeighbours(*parseLayout(text), 2); };
  CHECK(axis("register [[0,1]] lane [[1,0]] warp [] of [2x2]") == 1);
  CHECK(axis("register [[1,0]] lane [[0,1]] warp [] of [2x2]") == 0);
  CHECK(axis("register [] lane [[0,1],[1,0]] warp [] of [2x2]") == 1);
}

} // namespace imbrex::layout
