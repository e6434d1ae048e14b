#include "backend/layout/matrix_stores.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <utility>

namespace imbrex::layout {
namespace {

constexpr std::int32_t kLaneBits = 5;

/// Registers first, then lanes, then warps.
LinearLayout offsetsOf(const Vectors &registers, const Vectors &lanes, const Vectors &warps) {
  Vectors columns(registers);
  for (const Vectors &more : {lanes, warps}) columns.append(more.begin(), more.end());
  const auto bits = static_cast<std::int32_t>(columns.size());
  const auto count = [](const Vectors &side) { return static_cast<std::int32_t>(side.size()); };
  return {{{Dim::Register, count(registers)}, {Dim::Lane, kLaneBits}, {Dim::Warp, count(warps)}},
          {{Dim::Offset, bits}},
          columns};
}

/// By the words of the instruction, lane by lane: each element arrives at its offset.
void checkArrival(const LinearLayout &offsets, const MatrixStores &stores, std::int32_t bytes) {
  const auto ofLane = static_cast<std::size_t>(4 / bytes);
  const std::size_t matrices = std::size_t{1} << stores.matrixBits;
  const std::size_t count = stores.registers.size() / ofLane / matrices;
  const auto at = [](const LinearLayout &layout, Bits reg, Bits lane, Bits warp) {
    return layout.apply(Dim::Register, reg) ^ layout.apply(Dim::Lane, lane) ^
           layout.apply(Dim::Warp, warp);
  };
  for (Bits warp = 0; warp >> offsets.inputBits(Dim::Warp) == 0; ++warp)
    for (std::size_t i = 0; i < count * matrices * ofLane; ++i)
      for (Bits lane = 0; lane >> kLaneBits == 0; ++lane) {
        const std::size_t element = i % ofLane, matrix = i / ofLane % matrices,
                          store = i / ofLane / matrices;
        const Bits across = lane / 4, along = lane % 4 * ofLane + element;
        const auto [row, place] =
            stores.areTransposed ? std::pair(along, across) : std::pair(across, along);
        const Bits named =
            at(stores.rows, store << stores.elementBitsOfRow, 8 * matrix + row, warp);
        const auto reg = static_cast<Bits>(stores.registers[i]);
        REQUIRE((named + place) == at(offsets, reg, lane, warp));
      }
}

TEST_CASE("sums of a warp's product are stored as rows, or as columns of the transposed tile") {
  // Two neighbours of a row in a lane, four lanes a row, eight rows; a second block of columns.
  const LinearLayout rows = offsetsOf({1, 8}, {2, 4, 16, 32, 64}, {});
  const auto plain = matrixStores(rows, 2);
  REQUIRE(plain);
  CHECK_FALSE(plain->areTransposed);
  CHECK(plain->matrixBits == 1);
  CHECK(plain->registers == std::vector<std::int32_t>{0, 1, 2, 3});
  checkArrival(rows, *plain, 2);
  // The same tile, column by column.
  const LinearLayout columns = offsetsOf({8, 64}, {16, 32, 1, 2, 4}, {});
  const auto transposed = matrixStores(columns, 2);
  REQUIRE(transposed);
  CHECK(transposed->areTransposed);
  checkArrival(columns, *transposed, 2);
  // Elements of one byte have no transposed form, and those of eight no row.
  CHECK_FALSE(matrixStores(columns, 1));
  CHECK_FALSE(matrixStores(rows, 8));
}

TEST_CASE("lanes that hold one element, or pieces of rows, store no matrices") {
  CHECK_FALSE(matrixStores(offsetsOf({1, 8}, {2, 4, 0, 32, 64}, {16}), 2));
  CHECK_FALSE(matrixStores(offsetsOf({1, 8}, {2, 4, 8, 32, 64}, {16}), 2)); // as the register does
  CHECK_FALSE(matrixStores(offsetsOf({1, 8}, {2, 4, 16 ^ 1, 32, 64}, {}), 2));
  CHECK_FALSE(matrixStores(offsetsOf({1, 8}, {2, 4, 16, 32, 64}, {128 ^ 4}), 2));
  CHECK_FALSE(matrixStores(offsetsOf({1}, {2, 8, 16, 32, 64}, {4}), 2));
}

/// A swizzled tile whose rows of 16 bytes are in one piece: of what is above them in the offset any
/// basis.
LinearLayout randomRows(std::mt19937_64 &random, std::int32_t bytes, bool areColumns) {
  const std::size_t inLane = bytes == 1 ? 2 : bytes == 2 ? 1 : 0, inRow = inLane + 2;
  const std::size_t registerBits = inLane + (areColumns ? 1 : 0) + random() % 3,
                    warps = random() % 3;
  const std::size_t all = registerBits + kLaneBits + warps;
  Vectors above;
  while (above.size() < all - inRow) {
    Vectors more(above);
    more.push_back(random() % (Bits{1} << all) >> inRow << inRow);
    if (rank(more) == static_cast<std::int32_t>(more.size())) above = more;
  }
  const auto take = [&](Vectors &into, std::size_t count) {
    for (; count > 0; --count) into.push_back(above.pop_back_val());
  };
  const Vectors row = unitVectors(static_cast<std::int32_t>(inRow));
  Vectors registers, lanes, ofWarps;
  if (areColumns) {
    take(lanes, 2);
    lanes.append(row.begin(), row.end());
  } else {
    registers.append(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(inLane));
    lanes.append(row.begin() + static_cast<std::ptrdiff_t>(inLane), row.end());
    take(lanes, 3);
  }
  take(registers, registerBits - registers.size());
  take(ofWarps, warps);
  if (!areColumns) std::shuffle(registers.begin(), registers.end(), random);
  return offsetsOf(registers, lanes, ofWarps);
}

TEST_CASE("each element arrives where it should, wherever rows lie") {
  constexpr unsigned kCases = 500;
  for (unsigned seed = 0; seed < kCases; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const bool areColumns = random() % 2 == 0;
    const std::int32_t bytes = areColumns ? 2 : 1 << random() % 3;
    const LinearLayout offsets = randomRows(random, bytes, areColumns);
    const auto stores = matrixStores(offsets, bytes);
    REQUIRE(stores);
    CHECK(stores->areTransposed == areColumns);
    checkArrival(offsets, *stores, bytes);
  }
}

TEST_CASE("matrices are taken where they are fewer stores, and only where the machine has them") {
  const SharedMemoryModel with{.storesMatrices = true}, without;
  const auto areTaken = [&](const LinearLayout &offsets, const SharedMemoryModel &memory) {
    return fewerMatrixStores(offsets, contiguousRegisters(offsets, 8), 2, memory).has_value();
  };
  const LinearLayout pairs = offsetsOf({1, 8}, {2, 4, 64, 128, 256}, {16, 32});
  CHECK(areTaken(pairs, with));
  CHECK_FALSE(areTaken(pairs, without));
  CHECK_FALSE(areTaken(offsetsOf({1}, {2, 4, 64, 128, 256}, {8, 16, 32}), with)); // as many
}

TEST_CASE("a matrix takes a cycle where its rows lie in different banks") {
  const SharedMemoryModel memory{.storesMatrices = true};
  const auto cycles = [&](const LinearLayout &offsets) {
    return costOf(*matrixStores(offsets, 2), 2, memory).cycles;
  };
  CHECK(cycles(offsetsOf({1, 64, 128}, {2, 4, 8, 16, 32}, {})) == 4);
  CHECK(cycles(offsetsOf({1, 8, 16}, {2, 4, 64, 128, 256}, {32})) == 4 * 8); // rows in one bank
  CHECK(cycles(offsetsOf({1, 8, 16}, {2, 4, 64 ^ 8, 128 ^ 16, 256 ^ 32}, {32})) == 4);
  CHECK(cycles(offsetsOf({64}, {16, 32, 1, 2, 4}, {8})) == 2); // one matrix, its rows by twos
}

} // namespace
} // namespace imbrex::layout
