#include "backend/layout/layout_text.h"
#include "tools/imbrex/layout_picture.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace imbrex::tool {
namespace {

PicturedLayout picture(const char *text) {
  const auto layout = layout::parseLayout(text);
  REQUIRE(layout);
  return pictured(*layout);
}

std::size_t countOf(const std::string &text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

} // namespace

TEST_CASE("a table shows thread and register of each element, the owner's where there are copies") {
  const PicturedLayout tile = picture("register [[0,1]] lane [[0,2],[0,0]] warp [[1,0]] of [2x4]");
  CHECK(placeLegend(tile.layout) == "thread:register, thread = lane + 4 * warp");
  CHECK(tableOf(tile) == "    0   1   2   3\n"
                         "0 0:0 0:1 1:0 1:1\n"
                         "1 4:0 4:1 5:0 5:1\n");
}

TEST_CASE("a table leaves out padding, and says where nothing is") {
  PicturedLayout tile = picture("register [[0,1]] lane [[1,0]] warp [] of [2x4]");
  tile.extents = {2, 3};
  CHECK(tableOf(tile) == "    0   1   2\n"
                         "0 0:0 0:1   -\n"
                         "1 1:0 1:1   -\n");
}

TEST_CASE("a tile without axes, with one, and with three is shown in rows and slices") {
  CHECK(tableOf(picture("register [] lane [[]] warp [] of []")) == "    0\n0 0:0\n");
  CHECK(tableOf(picture("offset [[2],[1]] of [4]")) == "  0 1 2 3\n0 0 2 1 3\n");
  CHECK(tableOf(picture("register [[1,0,0],[0,1,0]] lane [[0,0,1]] warp [] of [2x2x2]")) ==
        "[0, :, :]\n    0   1\n0 0:0 1:0\n1 0:2 1:2\n"
        "[1, :, :]\n    0   1\n0 0:1 1:1\n1 0:3 1:3\n");
}

TEST_CASE("in a picture every element has a cell, and every thread of a small block a colour") {
  const PicturedLayout tile = picture("register [[0,1]] lane [[0,2],[1,0]] warp [[2,0]] of [4x4]");
  const std::string svg = svgOf(tile);
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(countOf(svg, "<rect x=") == 16);
  CHECK(countOf(svg, ">7:1</text>") == 1);
  std::vector<std::string> colours;
  for (std::size_t at = svg.find("<rect x="); at != std::string::npos;
       at = svg.find("<rect x=", at + 1))
    colours.push_back(svg.substr(svg.find("fill=", at) + 6, 7));
  std::ranges::sort(colours);
  colours.erase(std::ranges::unique(colours).begin(), colours.end());
  CHECK(colours.size() == 8);
}

TEST_CASE("elements are counted without overflow") {
  PicturedLayout tile = picture("register [] lane [] warp [] of [1x1x1x1x1]");
  CHECK(elementCount(tile) == 1);
  tile.extents.assign(5, std::int64_t{1} << 40);
  CHECK(elementCount(tile) > kMaxPicturedElements);
}

} // namespace imbrex::tool
