#include "backend/layout/layout_text.h"
#include "backend/layout/padding.h"
#include "tests/unit/layout/random_layout.h"

#include <doctest/doctest.h>

namespace imbrex::layout {
namespace {

bool isOutside(const LinearLayout &layout, Bits element, llvm::ArrayRef<std::int64_t> extents) {
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    const std::int32_t bits = layout.outputs()[axis].bits;
    if ((element & ((Bits{1} << bits) - 1)) >= static_cast<Bits>(extents[axis])) return true;
    element >>= bits;
  }
  return false;
}

/// By looking at every thread.
PaddedThreads lookedUp(const LinearLayout &layout, Bits registerIndex,
                       llvm::ArrayRef<std::int64_t> extents) {
  const std::int32_t registerBits = layout.inputBits(Dim::Register);
  const Bits threads = Bits{1} << (layout.inputBits() - registerBits);
  Bits padded = 0;
  for (Bits thread = 0; thread < threads; ++thread)
    if (isOutside(layout, layout.apply(registerIndex | thread << registerBits), extents)) ++padded;
  if (padded == 0) return PaddedThreads::NoThread;
  return padded == threads ? PaddedThreads::AllThreads : PaddedThreads::SomeThreads;
}

} // namespace

TEST_CASE("padding is what lies beyond an extent") {
  const LinearLayout layout = blockedLayout({3, 5}, {.lanes = 4, .warps = 1}, 2, {1, 0});
  for (Bits row = 0; row < 4; ++row)
    for (Bits column = 0; column < 8; ++column)
      CHECK(isPadding(layout, row << 3 | column, {3, 5}) == (row >= 3 || column >= 5));
  CHECK(hasPadding(layout, {3, 5}));
  CHECK(hasPadding(layout, {4, 5}));
  CHECK_FALSE(hasPadding(layout, {4, 8}));
}

TEST_CASE("a register of a tile layout holds padding exactly in the threads that it says") {
  std::array<int, 3> seen{};
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const auto extents = randomExtents(rng, 8);
    const LinearLayout layout =
        randomBlocked(rng, extents, {.lanes = 1 << between(rng, 0, 4), .warps = 2});
    CAPTURE(toText(layout));
    bool any = false;
    for (Bits r = 0; r < static_cast<Bits>(registerCount(layout)); ++r) {
      const PaddedThreads found = paddingIn(layout, static_cast<std::int32_t>(r), extents);
      CHECK(found == lookedUp(layout, r, extents));
      ++seen.at(static_cast<std::size_t>(found));
      any |= found != PaddedThreads::NoThread;
    }
    CHECK(any == hasPadding(layout, extents));
  }
  for (const int count : seen) CHECK(count > 100);
}

TEST_CASE("of any layout, a register said to hold no padding holds none") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const LinearLayout layout =
        randomLayout(rng, {{Dim::Register, 2}, {Dim::Lane, 2}, {Dim::Warp, 1}}, tileSides({7, 5}));
    for (Bits r = 0; r < 4; ++r) {
      const PaddedThreads found = paddingIn(layout, static_cast<std::int32_t>(r), {7, 5});
      if (found != PaddedThreads::SomeThreads) CHECK(found == lookedUp(layout, r, {7, 5}));
      if (lookedUp(layout, r, {7, 5}) == PaddedThreads::SomeThreads)
        CHECK(found == PaddedThreads::SomeThreads);
    }
  }
}

} // namespace imbrex::layout
