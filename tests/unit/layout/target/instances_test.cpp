#include "backend/layout/algebra.h"
#include "backend/layout/bank_conflicts.h"
#include "backend/layout/conversion.h"
#include "backend/layout/layout_text.h"
#include "backend/layout/tile_layout.h"
#include "tests/unit/layout/tile_access.h"

#include <doctest/doctest.h>

#include <functional>

/// What vendors publish as formulas or pictures are values of the one class.
namespace imbrex::layout {
namespace {

struct Coordinates {
  Bits row, column;
};

/// Whether a layout is a formula of lane and register.
void checkFormula(const char *text, const std::function<Coordinates(Bits lane, Bits i)> &formula) {
  CAPTURE(text);
  const auto layout = parseLayout(text);
  REQUIRE(layout);
  CHECK(isTileLayout(*layout));
  for (Bits lane = 0; lane >> layout->inputBits(Dim::Lane) == 0; ++lane)
    for (Bits i = 0; i >> layout->inputBits(Dim::Register) == 0; ++i) {
      const Bits element = layout->apply(i | lane << layout->inputBits(Dim::Register));
      const auto [row, column] = formula(lane, i);
      CHECK(layout->outputPart(element, Dim::Axis0) == row);
      CHECK(layout->outputPart(element, Dim::Axis1) == column);
    }
}

/// So many bits' worth of products side by side along an axis: each thread counts them by
/// registers.
LinearLayout sideBySide(const LinearLayout &one, Dim axis, std::int32_t bits) {
  Sides places(one.inputs()), tile(one.outputs());
  for (Side &side : places)
    if (side.dim == Dim::Register) side.bits += bits;
  for (Side &side : tile)
    if (side.dim == axis) side.bits += bits;
  const auto count = static_cast<std::size_t>(one.inputBits() + bits);
  const LinearLayout all(places, tile, Vectors(count, 0));
  Vectors columns;
  for (const Side &side : one.inputs()) {
    for (const Bits column : one.columns(side.dim)) {
      Bits element = 0;
      for (const Side &part : tile)
        element |= one.outputPart(column, part.dim) << all.outputShift(part.dim);
      columns.push_back(element);
    }
    if (side.dim != Dim::Register) continue;
    for (std::int32_t bit = 0; bit < bits; ++bit)
      columns.push_back(Bits{1} << (one.outputBits(axis) + bit + all.outputShift(axis)));
  }
  return LinearLayout(places, tile, columns);
}

/// A tile with rows of so many bytes in which the hardware swizzles 16-byte chunks: the address
/// bits from 4 on are exclusive-ored with those from 7 on.
LinearLayout swizzledRows(std::int32_t rowBits, std::int32_t elementBits,
                          std::int32_t rowBytesBits) {
  const std::int32_t columnBits = rowBytesBits - elementBits, bits = rowBits + columnBits;
  Vectors columns = unitVectors(bits); // offset to row-major index: the swizzle is its own inverse
  for (std::int32_t i = 0; i < rowBytesBits - 4; ++i)
    if (7 + i - elementBits < bits)
      columns[static_cast<std::size_t>(7 + i - elementBits)] |= Bits{1} << (4 + i - elementBits);
  return LinearLayout({{Dim::Offset, bits}}, {{Dim::Axis0, rowBits}, {Dim::Axis1, columnBits}},
                      columns);
}

} // namespace

// PTX ISA 9.2, section "Matrix Fragments for mma.m16n8k16 with floating point type".
TEST_CASE("the fragments of a 16 x 8 x 16 matrix product on 32 lanes are layouts") {
  checkFormula(
      "register [[0,1],[8,0],[0,8]] lane [[0,2],[0,4],[1,0],[2,0],[4,0]] warp [] of [16x16]",
      [](Bits lane, Bits i) {
        const Bits group = lane >> 2, thread = lane % 4;
        const bool upper = i < 2 || (i >= 4 && i < 6);
        return Coordinates{upper ? group : group + 8, thread * 2 + (i & 1) + (i < 4 ? 0 : 8)};
      });
  checkFormula("register [[1,0],[8,0]] lane [[2,0],[4,0],[0,1],[0,2],[0,4]] warp [] of [16x8]",
               [](Bits lane, Bits i) {
                 const Bits group = lane >> 2, thread = lane % 4;
                 return Coordinates{thread * 2 + (i & 1) + (i < 2 ? 0 : 8), group};
               });
  checkFormula("register [[0,1],[8,0]] lane [[0,2],[0,4],[1,0],[2,0],[4,0]] warp [] of [16x8]",
               [](Bits lane, Bits i) {
                 const Bits group = lane >> 2, thread = lane % 4;
                 return Coordinates{i < 2 ? group : group + 8, thread * 2 + (i & 1)};
               });
}

// AMD Matrix Instruction Calculator (ROCm/amd_matrix_instruction_calculator), --matrix-layout for
// CDNA3: v_mfma_f32_32x32x8_f16 and v_mfma_f32_16x16x16_f16, matrices A, B and D.
TEST_CASE("the fragments of matrix products on 64 lanes are layouts") {
  checkFormula(
      "register [[0,1],[0,2]] lane [[1,0],[2,0],[4,0],[8,0],[16,0],[0,4]] warp [] of [32x8]",
      [](Bits lane, Bits i) { return Coordinates{lane % 32, lane / 32 * 4 + i}; });
  checkFormula(
      "register [[1,0],[2,0]] lane [[0,1],[0,2],[0,4],[0,8],[0,16],[4,0]] warp [] of [8x32]",
      [](Bits lane, Bits i) { return Coordinates{lane / 32 * 4 + i, lane % 32}; });
  checkFormula(
      "register [[1,0],[2,0],[8,0],[16,0]] "
      "lane [[0,1],[0,2],[0,4],[0,8],[0,16],[4,0]] warp [] of [32x32]",
      [](Bits lane, Bits i) { return Coordinates{i / 4 * 8 + lane / 32 * 4 + i % 4, lane % 32}; });
  checkFormula(
      "register [[0,1],[0,2]] lane [[1,0],[2,0],[4,0],[8,0],[0,4],[0,8]] warp [] of [16x16]",
      [](Bits lane, Bits i) { return Coordinates{lane % 16, lane / 16 * 4 + i}; });
  checkFormula(
      "register [[1,0],[2,0]] lane [[0,1],[0,2],[0,4],[0,8],[4,0],[8,0]] warp [] of [16x16]",
      [](Bits lane, Bits i) { return Coordinates{lane / 16 * 4 + i, lane % 16}; });
}

TEST_CASE(
    "an accumulator becomes the next product's operand as it is, or by shuffles in the warp") {
  // On 32 lanes the accumulators of two products side by side are the operand of the next one.
  const auto accumulator =
      parseLayout("register [[0,1],[8,0]] lane [[0,2],[0,4],[1,0],[2,0],[4,0]] warp [] of [16x8]");
  const LinearLayout pair = sideBySide(*accumulator, Dim::Axis1, 1);
  const auto operand = parseLayout(
      "register [[0,1],[8,0],[0,8]] lane [[0,2],[0,4],[1,0],[2,0],[4,0]] warp [] of [16x16]");
  CHECK(planConversion(pair, *operand).kind == ConversionKind::None);
  // On 64 lanes one accumulator of 32 x 32 is the second operand of four products of depth 8.
  const auto wide = parseLayout("register [[1,0],[2,0],[8,0],[16,0]] "
                                "lane [[0,1],[0,2],[0,4],[0,8],[0,16],[4,0]] warp [] of [32x32]");
  const LinearLayout four =
      sideBySide(*parseLayout("register [[1,0],[2,0]] "
                              "lane [[0,1],[0,2],[0,4],[0,8],[0,16],[4,0]] warp [] of [8x32]"),
                 Dim::Axis0, 2);
  CHECK(planConversion(*wide, four).kind == ConversionKind::None);
}

// CUDA C++ Programming Guide, "Asynchronous Data Copies using Tensor Memory Access: TMA Swizzle":
// chunk c of row r goes to chunk c ^ (r mod 8) for 128 bytes, c ^ (r / 2 mod 4) for 64, and
// c ^ (r / 4 mod 2) for 32.
TEST_CASE("the swizzles of 32, 64 and 128 bytes are layouts in which a column costs no conflict") {
  for (const std::int32_t rowBytesBits : {5, 6, 7}) {
    CAPTURE(rowBytesBits);
    const LinearLayout shared = swizzledRows(4, 1, rowBytesBits);
    CHECK(isBijective(shared));
    const Bits rowBytes = Bits{1} << rowBytesBits;
    const LinearLayout offsets = inverse(shared);
    for (Bits row = 0; row < 16; ++row)
      for (Bits chunk = 0; chunk < rowBytes / 16; ++chunk) {
        const Bits at = row * rowBytes / 128 % (rowBytes / 16) ^ chunk;
        CHECK(offsets.apply(row * rowBytes / 2 + chunk * 8) == row * rowBytes / 2 + at * 8);
      }
    // Each lane reads 16 bytes, eight lanes a column: how a matrix operand is loaded.
    Sides tile(shared.outputs());
    Vectors lanes{Bits{1} << tile[1].bits, Bits{2} << tile[1].bits, Bits{4} << tile[1].bits};
    const LinearLayout rows({{Dim::Register, 3}, {Dim::Lane, 3}, {Dim::Warp, 0}}, tile,
                            {1, 2, 4, lanes[0], lanes[1], lanes[2]});
    const TileAccess access{AccessKind::Read, rows, 2, 8};
    CHECK(bankConflicts(shared, access, {.banks = 32, .lanes = 8}).conflicts() == 0);
    const LinearLayout plain({{Dim::Offset, shared.inputBits()}}, tile,
                             unitVectors(shared.inputBits()));
    CHECK(bankConflicts(plain, access, {.banks = 32, .lanes = 8}).conflicts() ==
          static_cast<std::int64_t>(rowBytes / 16 - 1));
  }
}

} // namespace imbrex::layout
