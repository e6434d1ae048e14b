#include "backend/layout/algebra.h"
#include "backend/layout/layout_text.h"
#include "backend/layout/matrix.h"
#include "backend/layout/tile_layout.h"
#include "llvm/ADT/bit.h"
#include "tests/unit/layout/random_layout.h"
#include "tests/unit/layout/thread_bits.h"

#include <doctest/doctest.h>

#include <set>

namespace imbrex::layout {
namespace {

/// The coordinates of a packed element.
std::vector<Bits> coordinates(const LinearLayout &layout, Bits element) {
  std::vector<Bits> result;
  for (const Side &side : layout.outputs()) result.push_back(layout.outputPart(element, side.dim));
  return result;
}

/// What a thread holds: lanes and warps as one packed number.
std::set<std::vector<Bits>> heldBy(const LinearLayout &layout, Bits thread) {
  std::set<std::vector<Bits>> held;
  const std::int32_t bits = layout.inputBits(Dim::Register);
  for (Bits r = 0; r >> bits == 0; ++r)
    held.insert(coordinates(layout, layout.apply(r | thread << bits)));
  return held;
}

/// Checks blocked layouts of tiles that have axes, each along one of these.
template <class Check>
void alongRandomAxes(Check check) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const LinearLayout layout = randomBlocked(rng);
    CAPTURE(toText(layout));
    const auto rank = static_cast<std::int32_t>(layout.outputs().size());
    if (rank > 0) check(layout, between(rng, 0, rank - 1));
  }
}

} // namespace

TEST_CASE("a blocked layout deals neighbours to a thread, then to lanes, then to warps") {
  const LinearLayout rows = blockedLayout({8, 32}, {.lanes = 4, .warps = 2}, 4, {1, 0});
  CHECK(toText(rows) == "register [[0,1],[0,2],[1,0],[2,0],[4,0]] lane [[0,4],[0,8]] warp [[0,16]] "
                        "of [8x32]");
}

TEST_CASE("blocked layouts are tile layouts, and hold every element in one register of a thread") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const LinearLayout layout = randomBlocked(rng);
    CAPTURE(toText(layout));
    CHECK(isTileLayout(layout));
    CHECK(isSurjective(layout));
    for (Bits thread = 0; thread >> threadBits(layout) == 0; ++thread)
      CHECK(heldBy(layout, thread).size() == static_cast<std::size_t>(registerCount(layout)));
  }
}

TEST_CASE("a layout without an axis holds the same elements in the same threads, less that axis") {
  alongRandomAxes([](const LinearLayout &layout, std::int32_t axis) {
    const LinearLayout without = withoutAxis(layout, axis), unit = withUnitAxis(layout, axis);
    CHECK(isTileLayout(without));
    CHECK(isTileLayout(unit));
    CHECK(without.outputs().size() + 1 == layout.outputs().size());
    CHECK(unit.outputBits(axisDim(axis)) == 0);
    for (Bits thread = 0; thread >> threadBits(layout) == 0; ++thread) {
      std::set<std::vector<Bits>> less, one;
      for (std::vector<Bits> place : heldBy(layout, thread)) {
        place[static_cast<std::size_t>(axis)] = 0;
        one.insert(place);
        place.erase(place.begin() + axis);
        less.insert(place);
      }
      CHECK(heldBy(without, thread) == less);
      CHECK(heldBy(unit, thread) == one);
    }
  });
}

TEST_CASE("neighbours along an axis come into registers, and nothing moves along the others") {
  alongRandomAxes([](const LinearLayout &layout, std::int32_t axis) {
    const LinearLayout moved = withNeighboursInRegisters(layout, axis);
    CAPTURE(toText(moved));
    CHECK(isTileLayout(moved));
    CHECK(isSurjective(moved));
    const auto alongAxis = [&](const LinearLayout &of) {
      return of.outputPart(unionOf(of.columns(Dim::Register)), axisDim(axis));
    };
    CHECK(llvm::popcount(alongAxis(moved)) == llvm::popcount(alongAxis(layout)));
    CHECK((alongAxis(moved) & (alongAxis(moved) + 1)) == 0);
    for (std::size_t i = 0; i < layout.columns().size(); ++i)
      for (const Side &other : layout.outputs())
        if (other.dim != axisDim(axis))
          CHECK(moved.outputPart(moved.columns()[i], other.dim) ==
                layout.outputPart(layout.columns()[i], other.dim));
  });
}

TEST_CASE("registers along an axis are had of lanes, for others along other axes") {
  std::int32_t changed = 0;
  alongRandomAxes([&](const LinearLayout &layout, std::int32_t axis) {
    const auto along = [&](const LinearLayout &of, Dim dim) {
      return llvm::count_if(of.columns(dim),
                            [&](Bits column) { return of.outputPart(column, axisDim(axis)) != 0; });
    };
    const auto others =
        llvm::count_if(layout.columns(Dim::Register), [](Bits column) { return column != 0; }) -
        along(layout, Dim::Register);
    for (const std::int32_t bits : {0, 1, 2, 5}) {
      const LinearLayout moved = withRegistersAlong(layout, axis, bits);
      CAPTURE(toText(moved));
      CHECK(isTileLayout(moved));
      const auto had = along(layout, Dim::Register);
      const auto wanted = std::max<std::ptrdiff_t>(bits - had, 0);
      CHECK(along(moved, Dim::Register) ==
            had + std::min({wanted, along(layout, Dim::Lane), others}));
      Vectors before(layout.columns()), after(moved.columns());
      llvm::sort(before);
      llvm::sort(after);
      CHECK(before == after);
      CHECK(moved.columns(Dim::Warp) == layout.columns(Dim::Warp));
      changed += moved == layout ? 0 : 1;
    }
  });
  CHECK(changed > 50);
}

TEST_CASE("copy bits are those of the lanes and warps that share their elements") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const LinearLayout layout = randomBlocked(rng);
    for (const Dim dim : {Dim::Lane, Dim::Warp}) {
      const Bits copies = copyBits(layout, dim);
      for (std::int32_t bit = 0; bit < layout.inputBits(dim); ++bit)
        CHECK((copies >> bit & 1) == (layout.apply(dim, Bits{1} << bit) == 0 ? 1 : 0));
    }
  }
}

TEST_CASE("what is not one-hot, has copies in registers, or misses an element is no tile layout") {
  const auto isTile = [](const char *text) { return isTileLayout(*parseLayout(text)); };
  CHECK(isTile("register [[1]] lane [[0]] warp [] of [2]"));
  CHECK_FALSE(isTile("register [[1],[0]] lane [] warp [] of [2]"));
  CHECK_FALSE(isTile("register [[1]] lane [[1]] warp [] of [2]"));
  CHECK_FALSE(isTile("register [[1]] lane [[3]] warp [] of [4]"));
  CHECK_FALSE(isTile("register [[1]] lane [] warp [] of [4]"));
  CHECK_FALSE(isTile("lane [] register [[1]] warp [] of [2]"));
  CHECK_FALSE(isTile("register [[1]] lane [] of [2]"));
}

} // namespace imbrex::layout
