#include "backend/layout/layout_text.h"
#include "backend/layout/tile_layout.h"
#include "backend/layout/vector_width.h"
#include "tests/unit/layout/random_layout.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace imbrex::layout {
namespace {

/// Whether these are vectors: by looking at each element of each vector in each thread.
bool areVectors(const LinearLayout &layout, const RegisterVectors &vectors, std::int32_t shift) {
  const std::int32_t registerBits = layout.inputBits(Dim::Register);
  for (Bits thread = 0; thread >> (layout.inputBits() - registerBits) == 0; ++thread)
    for (std::size_t i = 0; i < vectors.registers.size(); ++i) {
      const auto within = i % static_cast<std::size_t>(vectors.width);
      const auto at = [&](std::size_t index) {
        return layout.apply(static_cast<Bits>(vectors.registers[index]) | thread << registerBits);
      };
      const Bits first = at(i - within);
      if ((first >> shift) % static_cast<Bits>(vectors.width) != 0) return false;
      if (at(i) != first + (Bits{within} << shift)) return false;
    }
  return true;
}

/// Whether the registers of every thread could be cut into vectors of this width at all: each
/// aligned run of elements that a thread touches, it has in the same registers as the others.
bool couldBeWider(const LinearLayout &layout, Bits width, std::int32_t shift) {
  const std::int32_t registerBits = layout.inputBits(Dim::Register);
  for (Bits r = 0; r >> registerBits == 0; ++r) {
    const Bits first = layout.apply(r);
    if ((first >> shift) % width != 0) continue;
    for (Bits i = 1; i < width; ++i) {
      bool found = false;
      for (Bits other = 0; other >> registerBits == 0; ++other)
        found |= layout.apply(other) == first + (i << shift);
      if (!found) return false;
    }
  }
  for (Bits thread = 0; thread >> (layout.inputBits() - registerBits) == 0; ++thread)
    if ((layout.apply(thread << registerBits) >> shift) % width != 0) return false;
  return true;
}

void checkVectors(const LinearLayout &layout, const RegisterVectors &vectors, std::int32_t shift,
                  std::int32_t bits, std::int64_t maxElements) {
  std::vector<std::int32_t> sorted(vectors.registers), all(sorted.size());
  std::ranges::sort(sorted);
  std::iota(all.begin(), all.end(), 0);
  CHECK(sorted == all);
  CHECK(static_cast<std::int64_t>(sorted.size()) == registerCount(layout));
  CHECK(areVectors(layout, vectors, shift));
  const std::int64_t wider = vectors.width * 2;
  const bool mayBeWider = wider <= maxElements && wider <= std::int64_t{1} << bits;
  if (mayBeWider) CHECK_FALSE(couldBeWider(layout, static_cast<Bits>(wider), shift));
  CHECK(vectors.width <= maxElements);
}

} // namespace

TEST_CASE("a thread's neighbours make one vector, and more of them where it has more") {
  const LinearLayout rows = blockedLayout({2, 16}, {.lanes = 4, .warps = 1}, 4, {1, 0});
  const RegisterVectors vectors = contiguousRegisters(rows, Dim::Axis1, 4);
  CHECK(vectors.width == 4);
  CHECK(vectors.registers == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(contiguousRegisters(rows, Dim::Axis1, 3).width == 2);
  CHECK(contiguousRegisters(rows, Dim::Axis1, 16).width == 4);
  CHECK(contiguousRegisters(rows, Dim::Axis0, 16).width == 2);
  CHECK(contiguousRegisters(rows, Dim::Axis0, 16).registers ==
        std::vector<std::int32_t>{0, 4, 1, 5, 2, 6, 3, 7});
}

TEST_CASE("registers that step in sums of bits still make vectors, in their order") {
  const auto layout = parseLayout("register [[3],[1],[6]] lane [[8]] warp [] of [16]");
  const RegisterVectors vectors = contiguousRegisters(*layout, 4);
  CHECK(vectors.width == 4);
  CHECK(vectors.registers == std::vector<std::int32_t>{0, 2, 3, 1, 7, 5, 4, 6});
}

TEST_CASE("there is no vector where lanes begin in its middle") {
  const auto layout = parseLayout("register [[1],[2]] lane [[5]] warp [] of [8]");
  CHECK(contiguousRegisters(*layout, 4).width == 1);
}

TEST_CASE("vectors are contiguous, aligned and as wide as can be, in every thread") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const bool anyColumns = seed % 2 == 1;
    const LinearLayout layout =
        anyColumns ? randomLayout(rng, {{Dim::Register, 3}, {Dim::Lane, 2}, {Dim::Warp, 0}},
                                  {{Dim::Axis0, 1}, {Dim::Axis1, 3}})
                   : randomBlocked(rng);
    CAPTURE(toText(layout));
    const std::int64_t bound = between(rng, 1, 16);
    const std::int32_t bits = layout.outputBits();
    checkVectors(layout, contiguousRegisters(layout, bound), 0, bits, bound);
    for (const Side &side : layout.outputs())
      checkVectors(layout, contiguousRegisters(layout, side.dim, bound),
                   layout.outputShift(side.dim), side.bits, bound);
  }
}

} // namespace imbrex::layout
