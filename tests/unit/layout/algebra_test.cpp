#include "backend/layout/algebra.h"
#include "backend/layout/layout_text.h"
#include "tests/unit/layout/random_layout.h"

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <set>

namespace imbrex::layout {
namespace {

constexpr std::array kHardware{Dim::Register, Dim::Lane, Dim::Warp, Dim::Offset};
constexpr std::array kAxes{Dim::Axis0, Dim::Axis1, Dim::Axis2};

std::int32_t total(llvm::ArrayRef<Side> sides) {
  std::int32_t bits = 0;
  for (const Side &side : sides) bits += side.bits;
  return bits;
}

/// Every layout between these sides.
void forAllLayouts(const Sides &inputs, const Sides &outputs,
                   const std::function<void(const LinearLayout &)> &check) {
  const std::int32_t rows = total(outputs), count = total(inputs);
  for (Bits all = 0; all >> (rows * count) == 0; ++all) {
    Vectors columns;
    for (std::int32_t i = 0; i < count; ++i)
      columns.push_back(all >> (rows * i) & ((Bits{1} << rows) - 1));
    check(LinearLayout(inputs, outputs, columns));
  }
}

/// Small domains of every shape: more inputs than outputs, fewer, as many.
void forAllSmallLayouts(const std::function<void(const LinearLayout &)> &check) {
  const Sides outputs{{Dim::Axis0, 1}, {Dim::Axis1, 2}};
  forAllLayouts({{Dim::Register, 1}, {Dim::Lane, 2}}, outputs, check);
  forAllLayouts({{Dim::Register, 1}, {Dim::Lane, 2}, {Dim::Warp, 1}}, outputs, check);
  forAllLayouts({{Dim::Register, 1}, {Dim::Lane, 1}}, outputs, check);
}

/// A value of each named dimension.
using Place = std::array<Bits, 9>;

Bits &at(Place &place, Dim dim) { return place[static_cast<std::size_t>(dim)]; }

Bits pack(const LinearLayout &layout, Place place) {
  Bits input = 0;
  for (const Side &side : layout.inputs())
    input |= at(place, side.dim) << layout.inputShift(side.dim);
  return input;
}

Place unpackInput(const LinearLayout &layout, Bits input) {
  Place place{};
  for (const Side &side : layout.inputs())
    at(place, side.dim) = input >> layout.inputShift(side.dim) & ((Bits{1} << side.bits) - 1);
  return place;
}

/// The layout as a function of named numbers, by its columns alone.
Place call(const LinearLayout &layout, const Place &place) {
  const Bits output = layout.apply(pack(layout, place));
  Place result{};
  for (const Side &side : layout.outputs())
    at(result, side.dim) = layout.outputPart(output, side.dim);
  return result;
}

LinearLayout randomSmallLayout(std::mt19937_64 &rng) {
  return randomLayout(rng, randomSides(rng, kHardware, 2), randomSides(rng, kAxes, 2));
}

} // namespace

TEST_CASE("a layout is linear: what it does to bits it does to their sums") {
  forAllSmallLayouts([](const LinearLayout &f) {
    for (Bits a = 0; a >> f.inputBits() == 0; ++a)
      for (Bits b = 0; b < a; ++b) REQUIRE(f.apply(a ^ b) == (f.apply(a) ^ f.apply(b)));
  });
}

TEST_CASE("surjective and bijective are about the images") {
  forAllSmallLayouts([](const LinearLayout &f) {
    std::set<Bits> image;
    for (Bits x = 0; x >> f.inputBits() == 0; ++x) image.insert(f.apply(x));
    const bool isInjective = image.size() == (std::size_t{1} << f.inputBits());
    REQUIRE(isSurjective(f) == (image.size() == (std::size_t{1} << f.outputBits())));
    REQUIRE(isBijective(f) == (isInjective && isSurjective(f)));
  });
}

TEST_CASE("composition means applying one layout after the other") {
  const Sides middle{{Dim::Axis0, 1}, {Dim::Axis1, 2}};
  forAllLayouts({{Dim::Register, 1}, {Dim::Lane, 1}}, middle, [&](const LinearLayout &inner) {
    // The other order of dimensions, so that the packed numbers differ.
    forAllLayouts({{Dim::Axis0, 1}, {Dim::Axis1, 2}}, {{Dim::Offset, 2}},
                  [&](const LinearLayout &outer) {
                    const LinearLayout both = compose(outer, inner);
                    for (Bits x = 0; x < 4; ++x) {
                      const Place place = unpackInput(inner, x);
                      REQUIRE(call(both, place) == call(outer, call(inner, place)));
                    }
                  });
  });
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const LinearLayout inner = randomSmallLayout(rng);
    Sides inputs(inner.outputs());
    std::shuffle(inputs.begin(), inputs.end(), rng);
    const LinearLayout outer = randomLayout(rng, inputs, randomSides(rng, kHardware, 3));
    const LinearLayout both = compose(outer, inner);
    for (Bits x = 0; x >> inner.inputBits() == 0; ++x) {
      const Place place = unpackInput(inner, x);
      CHECK(call(both, place) == call(outer, call(inner, place)));
    }
  }
}

TEST_CASE("the inverse undoes a bijection, from both sides and in packed numbers") {
  std::int32_t bijections = 0;
  forAllSmallLayouts([&](const LinearLayout &f) {
    if (!isBijective(f)) return;
    ++bijections;
    const LinearLayout back = inverse(f);
    REQUIRE(inverse(back) == f);
    for (Bits x = 0; x < 8; ++x) {
      REQUIRE(back.apply(f.apply(x)) == x);
      REQUIRE(f.apply(back.apply(x)) == x);
      const Place place = unpackInput(f, x);
      REQUIRE(call(back, call(f, place)) == place);
    }
  });
  CHECK(bijections == 168); // 7 · 6 · 4, the invertible 3 x 3 matrices over F2
}

} // namespace imbrex::layout
