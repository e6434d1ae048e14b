#include "backend/target/host/whole/key_rule.h"
#include "llvm/ADT/APFloat.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace imbrex::host {
namespace {

using ir::ElementKind;

/// Whether one element comes before another, as the semantics page says it; two NaNs are alike.
bool comesBefore(ElementKind element, std::uint64_t a, std::uint64_t b, bool descending) {
  const auto bits = static_cast<unsigned>(ir::info(element).bits);
  if (!ir::isFloat(element) && !ir::isNarrowFloat(element)) {
    const llvm::APInt x(bits, a), y(bits, b);
    const bool isLess = ir::isSigned(element) ? x.slt(y) : x.ult(y);
    return descending ? x != y && !isLess : isLess;
  }
  const llvm::fltSemantics &format = ir::floatFormat(element);
  const llvm::APFloat x(format, llvm::APInt(bits, a)), y(format, llvm::APInt(bits, b));
  if (x.isNaN() || y.isNaN()) return !x.isNaN();
  const llvm::APFloat &lower = descending ? y : x, &upper = descending ? x : y;
  if (lower.isZero() && upper.isZero()) return lower.isNegative() && !upper.isNegative();
  return lower.compare(upper) == llvm::APFloat::cmpLessThan;
}

struct Question {
  ElementKind element;
  std::int64_t along;
  std::int64_t inner;
  bool descending;
  unsigned seed;
};

/// Elements of which many are equal, in bytes of their own.
std::vector<std::byte> randomTile(const Question &asked, std::int64_t count, std::int64_t bytes) {
  std::mt19937_64 random(asked.seed);
  std::vector<std::byte> tile(static_cast<std::size_t>(count * bytes));
  const auto bits = static_cast<std::uint32_t>(ir::info(asked.element).bits);
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
  const std::uint64_t some[] = {0, mask, mask >> 1, mask ^ mask >> 1, random()};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t element = (random() % 2 == 0 ? some[random() % 5] : random()) & mask;
    std::memcpy(tile.data() + i * bytes, &element, static_cast<std::size_t>(bytes));
  }
  return tile;
}

std::uint64_t elementAt(const std::vector<std::byte> &tile, std::int64_t i, std::int64_t bytes) {
  std::uint64_t element = 0;
  std::memcpy(&element, tile.data() + i * bytes, static_cast<std::size_t>(bytes));
  return element;
}

void ask(const Question &asked) {
  constexpr std::int64_t kOuter = 2;
  const std::int64_t count = kOuter * asked.along * asked.inner;
  const std::int64_t bytes = std::max(8, ir::info(asked.element).bits) / 8;
  const std::vector<std::byte> before = randomTile(asked, count, bytes);
  std::vector<std::byte> keys = before;
  std::vector<std::int64_t> places(static_cast<std::size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  const launching::SortTile tiles[] = {{keys.data(), bytes},
                                       {reinterpret_cast<std::byte *>(places.data()), 8}};
  launching::sortLines(keyRuleOf(asked.element, asked.descending),
                       {.outer = kOuter, .along = asked.along, .inner = asked.inner}, tiles);

  for (std::int64_t line = 0; line < kOuter * asked.inner; ++line) {
    const auto at = [&](std::int64_t i) {
      return (line / asked.inner * asked.along + i) * asked.inner + line % asked.inner;
    };
    std::vector<std::int64_t> wanted;
    for (std::int64_t i = 0; i < asked.along; ++i) wanted.push_back(at(i));
    std::ranges::stable_sort(wanted, [&](std::int64_t a, std::int64_t b) {
      return comesBefore(asked.element, elementAt(before, a, bytes), elementAt(before, b, bytes),
                         asked.descending);
    });
    for (std::int64_t i = 0; i < asked.along; ++i) {
      const std::int64_t from = wanted[static_cast<std::size_t>(i)];
      REQUIRE(places[static_cast<std::size_t>(at(i))] == from);
      REQUIRE(elementAt(keys, at(i), bytes) == elementAt(before, from, bytes));
    }
  }
}

TEST_CASE("lines of every element are sorted, stable, and what goes with them is moved") {
  for (const ElementKind element : ir::allElementKinds())
    for (const std::int64_t along : {1, 2, 64, 65, 700}) // by insertion, and by digits
      for (const std::int64_t inner : {1, 3})
        for (const bool descending : {false, true}) {
          CAPTURE(ir::info(element).name);
          CAPTURE(along);
          CAPTURE(inner);
          CAPTURE(descending);
          ask({element, along, inner, descending, static_cast<unsigned>(along)});
        }
}

} // namespace
} // namespace imbrex::host
