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

bool agreeEverywhere(const LinearLayout &a, const LinearLayout &b) {
  for (Bits x = 0; x >> a.inputBits() == 0; ++x) {
    const Place place = unpackInput(a, x);
    if (call(a, place) != call(b, place)) return false;
  }
  return true;
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

TEST_CASE("the constructors are what their names say") {
  for (Bits i = 0; i < 16; ++i) {
    CHECK(identity(Dim::Lane, Dim::Axis0, 4).apply(i) == i);
    CHECK(strided(Dim::Lane, Dim::Axis0, 4, 3).apply(i) == 8 * i);
    CHECK(broadcast(Dim::Lane, Dim::Axis0, 4).apply(i) == 0);
  }
  CHECK(toText(strided(Dim::Lane, Dim::Axis0, 2, 1)) == "lane [[2],[4]] of [8]");
  CHECK(broadcast(Dim::Lane, Dim::Axis0, 4).outputBits() == 0);
}

TEST_CASE("rank, injective, surjective and bijective are about the images") {
  forAllSmallLayouts([](const LinearLayout &f) {
    std::set<Bits> image;
    for (Bits x = 0; x >> f.inputBits() == 0; ++x) image.insert(f.apply(x));
    REQUIRE(image.size() == (std::size_t{1} << rank(f)));
    REQUIRE(isInjective(f) == (image.size() == (std::size_t{1} << f.inputBits())));
    REQUIRE(isSurjective(f) == (image.size() == (std::size_t{1} << f.outputBits())));
    REQUIRE(isBijective(f) == (isInjective(f) && isSurjective(f)));
    std::set<Bits> units;
    for (const Bits column : f.columns()) units.insert(column);
    const bool moves = units == std::set<Bits>{1, 2, 4} && f.inputBits() == 3;
    REQUIRE(isPermutation(f) == moves);
  });
}

TEST_CASE("the kernel is where elements meet") {
  forAllSmallLayouts([](const LinearLayout &f) {
    const Span copies(kernel(f));
    for (Bits x = 0; x >> f.inputBits() == 0; ++x)
      for (Bits y = 0; y >> f.inputBits() == 0; ++y)
        REQUIRE((f.apply(x) == f.apply(y)) == copies.contains(x ^ y));
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

TEST_CASE("a right inverse finds the least place of every element") {
  forAllSmallLayouts([](const LinearLayout &f) {
    if (!isSurjective(f)) return;
    const LinearLayout back = rightInverse(f);
    for (Bits y = 0; y >> f.outputBits() == 0; ++y) {
      const Bits x = back.apply(y);
      REQUIRE(f.apply(x) == y);
      for (Bits less = 0; less < x; ++less) REQUIRE(f.apply(less) != y);
    }
  });
}

TEST_CASE("a product puts one layout below the other in every dimension") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const LinearLayout f = randomSmallLayout(rng), g = randomSmallLayout(rng);
    const LinearLayout both = product(f, g);
    CHECK(both.inputBits() == f.inputBits() + g.inputBits());
    CHECK(both.outputBits() == f.outputBits() + g.outputBits());
    for (Bits x = 0; x >> both.inputBits() == 0; ++x) {
      Place low = unpackInput(both, x), high = low;
      for (const Side &side : both.inputs()) {
        at(low, side.dim) &= (Bits{1} << f.inputBits(side.dim)) - 1;
        at(high, side.dim) >>= f.inputBits(side.dim);
      }
      Place expected = call(g, high);
      const Place below = call(f, low);
      for (std::size_t i = 0; i < expected.size(); ++i)
        expected[i] = expected[i] << f.outputBits(static_cast<Dim>(i)) | below[i];
      CHECK(call(both, unpackInput(both, x)) == expected);
    }
  }
}

TEST_CASE("division finds the other factor of a product, from either side") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const LinearLayout f = randomSmallLayout(rng), g = randomSmallLayout(rng);
    const auto high = divideLeft(product(f, g), f), low = divideRight(product(f, g), g);
    REQUIRE(high);
    REQUIRE(low);
    CHECK(isSameMap(*high, g));
    CHECK(isSameMap(*low, f));
  }
}

TEST_CASE("division succeeds exactly where there is a factor") {
  // Every layout of 3 x 3 bits against every divisor of one register and axis1 bit.
  const Sides outputs{{Dim::Axis0, 1}, {Dim::Axis1, 2}};
  const Sides restInputs{{Dim::Register, 1}, {Dim::Lane, 1}};
  const Sides restOutputs{{Dim::Axis0, 1}, {Dim::Axis1, 1}};
  forAllLayouts({{Dim::Register, 1}}, {{Dim::Axis1, 1}}, [&](const LinearLayout &g) {
    std::set<std::string> lefts, rights;
    forAllLayouts(restInputs, restOutputs, [&](const LinearLayout &q) {
      // A product has the sides of its first factor first; the text shows a fixed order.
      const auto key = [&](const LinearLayout &f) {
        const std::array inputs{Dim::Register, Dim::Lane}, axes{Dim::Axis0, Dim::Axis1};
        return toText(sublayout(f, inputs, axes));
      };
      lefts.insert(key(product(g, q)));
      rights.insert(key(product(q, g)));
    });
    forAllLayouts({{Dim::Register, 2}, {Dim::Lane, 1}}, outputs, [&](const LinearLayout &f) {
      REQUIRE(divideLeft(f, g).has_value() == lefts.contains(toText(f)));
      REQUIRE(divideRight(f, g).has_value() == rights.contains(toText(f)));
      if (const auto q = divideLeft(f, g)) REQUIRE(isSameMap(product(g, *q), f));
      if (const auto q = divideRight(f, g)) REQUIRE(isSameMap(product(*q, g), f));
    });
  });
}

TEST_CASE("nothing is divided by what has more bits, or bits that it has not") {
  const LinearLayout f = identity(Dim::Lane, Dim::Axis0, 2);
  CHECK_FALSE(divideLeft(f, identity(Dim::Lane, Dim::Axis0, 3)));
  CHECK_FALSE(divideLeft(f, identity(Dim::Warp, Dim::Axis0, 1)));
  CHECK_FALSE(divideRight(f, identity(Dim::Lane, Dim::Axis1, 1)));
}

TEST_CASE("a quotient forgets a dimension that is kept to itself") {
  const Sides places{{Dim::Lane, 2}, {Dim::Warp, 1}};
  std::int32_t found = 0;
  forAllLayouts(places, places, [&](const LinearLayout &f) {
    bool keepsToItself = true; // by the definition: warp i goes to warp i, and nothing else does
    for (Bits x = 0; x < 8; ++x) {
      Place place = unpackInput(f, x);
      const Place there = call(f, place);
      keepsToItself &= there[static_cast<std::size_t>(Dim::Warp)] == at(place, Dim::Warp);
      at(place, Dim::Warp) = 0;
      keepsToItself &= call(f, place)[static_cast<std::size_t>(Dim::Lane)] ==
                       there[static_cast<std::size_t>(Dim::Lane)];
    }
    const auto rest = quotient(f, Dim::Warp);
    REQUIRE(rest.has_value() == keepsToItself);
    if (!rest) return;
    ++found;
    REQUIRE(rest->inputBits(Dim::Warp) == 0);
    REQUIRE(isSameMap(product(*rest, identity(Dim::Warp, Dim::Warp, 1)), f));
  });
  CHECK(found == 16);
}

TEST_CASE("a sublayout is the layout with the other inputs at zero and the other outputs hidden") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const LinearLayout f = randomSmallLayout(rng);
    const std::array inputs{Dim::Warp, Dim::Register}, outputs{Dim::Axis2, Dim::Axis0};
    const LinearLayout sub = sublayout(f, inputs, outputs);
    CHECK(sub.inputBits() == f.inputBits(Dim::Warp) + f.inputBits(Dim::Register));
    for (Bits x = 0; x >> sub.inputBits() == 0; ++x) {
      const Place place = unpackInput(sub, x);
      Place expected = call(f, place);
      at(expected, Dim::Axis1) = 0;
      CHECK(call(sub, place) == expected);
    }
  }
}

TEST_CASE("two layouts are the same map where they agree on all named numbers") {
  forAllSmallLayouts([](const LinearLayout &f) {
    if (f.inputBits() != 3) return;
    const std::array inputs{Dim::Lane, Dim::Register}, outputs{Dim::Axis1, Dim::Axis0};
    const LinearLayout turned = sublayout(f, inputs, outputs);
    REQUIRE(isSameMap(f, turned));
    REQUIRE(agreeEverywhere(f, turned));
    Vectors columns(turned.columns());
    columns[1] ^= 4;
    REQUIRE_FALSE(
        isSameMap(f, LinearLayout(Sides(turned.inputs()), Sides(turned.outputs()), columns)));
  });
  const LinearLayout lane = identity(Dim::Lane, Dim::Axis0, 1);
  CHECK(isSameMap(lane, product(lane, broadcast(Dim::Warp, Dim::Axis1, 0))));
  CHECK_FALSE(isSameMap(lane, product(lane, broadcast(Dim::Warp, Dim::Axis0, 1))));
  CHECK_FALSE(isSameMap(lane, identity(Dim::Warp, Dim::Axis0, 1)));
  CHECK_FALSE(isSameMap(lane, identity(Dim::Lane, Dim::Axis1, 1)));
}

TEST_CASE("names do not matter where only names differ") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 rng(seed);
    const LinearLayout f = randomSmallLayout(rng);
    const LinearLayout g = renamed(renamed(f, Dim::Axis1, Dim::Axis4), Dim::Lane, Dim::Axis3);
    CHECK(isSameUpToNames(f, g));
    CHECK(g.inputBits(Dim::Axis3) == f.inputBits(Dim::Lane));
    for (Bits x = 0; x >> f.inputBits() == 0; ++x) CHECK(f.apply(x) == g.apply(x));
    if (f.inputBits() == 0 || f.outputBits() == 0) continue;
    Vectors columns(f.columns());
    columns.back() ^= 1;
    CHECK_FALSE(isSameUpToNames(f, LinearLayout(Sides(g.inputs()), Sides(g.outputs()), columns)));
  }
  CHECK_FALSE(
      isSameUpToNames(identity(Dim::Lane, Dim::Axis0, 1), strided(Dim::Lane, Dim::Axis0, 1, 1)));
}

} // namespace imbrex::layout
