#include "backend/layout/layout_text.h"
#include "backend/layout/tile_layout.h"
#include "tests/unit/layout/random_layout.h"

#include <doctest/doctest.h>

namespace imbrex::layout {
namespace {

constexpr std::array kAllDims{Dim::Register, Dim::Lane,  Dim::Warp,  Dim::Offset, Dim::Axis0,
                              Dim::Axis1,    Dim::Axis2, Dim::Axis3, Dim::Axis4};

std::string problemOf(std::string_view text) {
  const auto layout = parseLayout(text);
  return layout ? "none: " + toText(*layout) : layout.error();
}

} // namespace

TEST_CASE("a layout's text shows where each bit goes") {
  const auto blocked = blockedLayout({4, 8}, {.lanes = 8, .warps = 2}, 4, {1, 0});
  CHECK(toText(blocked) == "register [[0,1],[0,2]] lane [[0,4],[1,0],[2,0]] warp [[0,0]] of [4x8]");
  CHECK(toText(blockedLayout({}, {.lanes = 2, .warps = 1}, 4, {})) ==
        "register [] lane [[]] warp [] of []");
  CHECK(toText(LinearLayout({{Dim::Axis0, 2}}, {{Dim::Offset, 2}}, {1, 3})) ==
        "axis0 [[1],[3]] of offset [4]");
  CHECK(toText(LinearLayout({{Dim::Offset, 1}}, {{Dim::Axis1, 1}, {Dim::Axis0, 2}}, {5})) ==
        "offset [[1,1]] of axis1 [2] axis0 [4]");
  CHECK(toText(LinearLayout()) == "of []");
}

TEST_CASE("parsing gives back the layout that was printed") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const Sides inputs = randomSides(rng, kAllDims, 6), outputs = randomSides(rng, kAllDims, 6);
    const LinearLayout layout = randomLayout(rng, inputs, outputs);
    CAPTURE(toText(layout));
    const auto parsed = parseLayout(toText(layout));
    REQUIRE(parsed);
    CHECK(*parsed == layout);
  }
}

TEST_CASE("space does not matter where the text is clear, and named axes are a shape") {
  const auto dense = parseLayout("register[[0,1]]lane[[1,0]]of[2x2]");
  const auto airy = parseLayout("  register [ [ 0 , 1 ] ]\n lane [[1,0]] of axis0 [2] axis1 [2] ");
  REQUIRE(dense);
  REQUIRE(airy);
  CHECK(*dense == *airy);
}

TEST_CASE("a text that is no layout is answered with why") {
  CHECK(problemOf("") ==
        "expected register, lane, warp, offset, axis0 … axis4, or 'of', and the text ends");
  CHECK(problemOf("registers [[1]] of [2]") ==
        "expected register, lane, warp, offset, axis0 … axis4, or 'of' at 'registers [['");
  CHECK(problemOf("lane [[1]] off [2]") ==
        "expected register, lane, warp, offset, axis0 … axis4, or 'of' at 'off [2]'");
  CHECK(problemOf("lane [[1],] of [2]") ==
        "expected a list of coordinates, such as [[0,1],[0,2]], at '] of [2]'");
  CHECK(problemOf("lane [1] of [2]") ==
        "expected a list of coordinates, such as [[0,1],[0,2]], at '1] of [2]'");
  CHECK(problemOf("lane [[1]] lane [[1]] of [2]") == "lane is there twice");
  CHECK(problemOf("lane [[1]] of [3]") == "the extent 3 is no power of two");
  CHECK(problemOf("lane [[1]] of [0]") == "the extent 0 is no power of two");
  CHECK(problemOf("lane [[1]] of [x]") == "expected an extent at 'x]'");
  CHECK(problemOf("lane [[1]] of [2") == "expected 'x' or ']', and the text ends");
  CHECK(problemOf("lane [[1]] of 2") == "expected extents, such as [4x8], at '2'");
  CHECK(problemOf("lane [[1]] of offset 2") == "expected an extent in brackets at '2'");
  CHECK(problemOf("lane [[1,1]] of offset [2] offset [2]") == "offset is there twice");
  CHECK(problemOf("lane [[2]] of [2]") == "the coordinate 2 lies outside the extent 2");
  CHECK(problemOf("lane [[1]] of [2x2]") == "a bit goes to 1 coordinates, and there are 2 extents");
  CHECK(problemOf("lane [[1]] of [2] warp") == "expected the end at 'warp'");
  CHECK(problemOf("of [2x2x2x2x2x2]") == "a tile has at most 5 axes");
  CHECK(problemOf("of [9223372036854775808]") == "the extents need more than 62 bits");
  CHECK(problemOf("of [4294967296x4294967296]") == "the extents need more than 62 bits");
  std::string long63 = "lane [[0]";
  for (int i = 0; i < 62; ++i) long63 += ",[0]";
  CHECK(problemOf(long63 + "] of [1]") == "there are more than 62 input bits");
}

} // namespace imbrex::layout
