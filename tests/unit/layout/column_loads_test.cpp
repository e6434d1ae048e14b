#include "backend/layout/column_loads.h"
#include "backend/layout/layout_text.h"
#include "backend/layout/vector_width.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace imbrex::layout;

namespace {

/// Whose element a lane gets, and which of the eight that it has named.
struct Source {
  Bits lane, element;
};

/// RDNA 4 ISA, "Transpose loads": lane l has the column l % 8 of 8 x 8 that eight lanes name; of
/// bytes two eights of lanes share 16 x 8.
Source sourceOf(Bits lane, Bits element, std::int32_t bits) {
  if (bits == 16) return {lane / 8 * 8 + element, lane % 8};
  return {lane / 16 * 16 + element / 4 * 8 + lane / 8 % 2 * 4 + element % 4, lane % 8};
}

} // namespace

TEST_CASE("lanes name what others hold of columns") {
  std::int32_t found = 0;
  for (const std::int32_t bits : {8, 16})
    for (const std::int64_t depth : {1, 4, 8, 16, 64})
      for (const std::int64_t width : {8, 32, 48, 128})
        for (const std::int32_t warps : {1, 4, 8})
          for (const std::int64_t batch : {0, 1, 4}) {
            llvm::SmallVector<std::int64_t, 3> extents{depth, width};
            if (batch > 0) extents.insert(extents.begin(), batch);
            const std::int32_t axis = batch > 0 ? 1 : 0;
            const auto held = columnLayout(extents, {.lanes = 32, .warps = warps}, axis, bits);
            const std::int64_t elements =
                depth * (width == 48 ? 64 : width) * std::max<std::int64_t>(batch, 1);
            CAPTURE(bits);
            CAPTURE(depth);
            CAPTURE(width);
            CAPTURE(warps);
            CAPTURE(batch);
            CHECK(held.has_value() ==
                  (depth >= 8 && width >= 32 && elements >= std::int64_t{256} * warps));
            if (!held) continue;
            ++found;
            CHECK(isTileLayout(*held));
            CHECK_FALSE(hasCopies(*held));
            CHECK(contiguousRegisters(*held, axisDim(axis), 16).width >= 8);
            const auto named = namedForColumns(*held, bits);
            REQUIRE(named);
            CHECK(contiguousRegisters(*named, 8).width == 8);
            const Bits inputs = Bits{1} << held->inputBits();
            const std::int32_t laneAt = held->inputShift(Dim::Lane);
            for (Bits input = 0; input < inputs; ++input) {
              const Bits lane = input >> laneAt & 31;
              const Source from = sourceOf(lane, input & 7, bits);
              const Bits rest = input & ~(Bits{31} << laneAt | 7);
              REQUIRE(held->apply(input) ==
                      named->apply(rest | from.lane << laneAt | from.element));
            }
          }
  CHECK(found > 30);
  // Along a row no lane has neighbours of a column.
  CHECK_FALSE(columnLayout({64, 64}, {.lanes = 32, .warps = 4}, 1, 16));
}

TEST_CASE("threads have 16 bytes of a column, and warps of a row what there are registers for") {
  const auto deal = [](std::int32_t bits) {
    return columnLayout({64, 128}, {.lanes = 32, .warps = 4}, 0, bits);
  };
  CHECK(deal(8) ==
        *parseLayout("register [[1,0],[2,0],[4,0],[8,0],[0,32],[0,64]] lane "
                     "[[0,1],[0,2],[0,4],[0,8],[0,16]] warp [[16,0],[32,0]] of [64x128]"));
  CHECK(deal(16) == *parseLayout("register [[1,0],[2,0],[4,0],[0,32],[0,64],[8,0]] lane "
                                 "[[0,1],[0,2],[0,4],[0,8],[0,16]] warp [[16,0],[32,0]] of "
                                 "[64x128]"));
}

TEST_CASE("where lanes would name no neighbours, nothing is loaded by columns") {
  const auto isNamed = [](const char *text) {
    return namedForColumns(*parseLayout(text), 16).has_value();
  };
  CHECK(isNamed("register [[1,0],[2,0],[4,0]] lane [[0,1],[0,2],[0,4],[0,8],[0,16]] warp [] of "
                "[8x32]"));
  CHECK_FALSE(isNamed("register [[1,0],[2,0],[4,0]] lane [[0,2],[0,1],[0,4],[0,8],[0,16]] warp [] "
                      "of [8x32]"));
  CHECK_FALSE(isNamed("register [[0,1],[0,2],[0,4]] lane [[0,8],[0,16],[1,0],[2,0],[4,0]] warp [] "
                      "of [8x32]"));
  CHECK_FALSE(isNamed("register [[1,0],[2,0]] lane [[0,1],[0,2],[0,4],[0,8],[0,16]] warp [] of "
                      "[4x32]"));
  CHECK_FALSE(isNamed("register [[1,0],[2,0],[4,0]] lane [[0,1],[0,2],[0,4],[0,8],[0,16],[0,32]] "
                      "warp [] of [8x64]"));
  // Four neighbours of a row, and the row behind it.
  CHECK_FALSE(isNamed("register [[2,0],[4,0],[8,0]] lane [[0,1],[0,2],[1,0],[16,0],[32,0]] warp [] "
                      "of [64x4]"));
}
