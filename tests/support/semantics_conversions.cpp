#include "tests/support/reference_number.h"
#include "tests/support/semantics.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace imbrex::semantics {
namespace {

using ir::ElementKind;

/// Every code up to 16 bits; of wider elements the ones at which a conversion to any other element
/// changes its mind: each other element's numbers, their middles, one to either side; and random.
std::vector<std::uint64_t> sourcesOf(ElementKind from) {
  std::vector<std::uint64_t> sources;
  const std::int32_t width = ir::info(from).bits;
  if (width <= 16) {
    for (std::uint64_t code = 0; code < std::uint64_t{1} << width; ++code) sources.push_back(code);
    return sources;
  }
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  const auto around = [&](std::uint64_t bits) {
    for (std::uint64_t i = 0; i < 5; ++i) sources.push_back((bits + i - 2) & mask);
  };
  constexpr unsigned kSeed = 22;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 400; ++i) sources.push_back(random() & mask);
  for (int i = 0; i < width; ++i) {
    around((std::uint64_t{1} << i) & mask);
    around((std::uint64_t{3} << i) & mask);
  }
  for (const ElementKind other : ir::allElementKinds()) {
    const std::uint64_t codes = std::uint64_t{1} << std::min(ir::info(other).bits, 8);
    const std::int32_t unused = std::max(0, ir::info(other).bits - 8);
    for (std::uint64_t code = 0; code < codes; ++code) {
      const Number number = decode(other, code << unused);
      const Number middle{number.kind, number.isNegative, 2 * number.mantissa + 1,
                          number.exponent - 1};
      around(encode(from, number));
      if (number.mantissa < std::uint64_t{1} << 62) around(encode(from, middle));
    }
  }
  std::ranges::sort(sources);
  sources.erase(std::ranges::unique(sources).begin(), sources.end());
  return sources;
}

ElementwiseCase conversion(ElementKind from, ElementKind to,
                           const std::vector<std::uint64_t> &sources, bool isTowardZero) {
  ElementwiseCase question{"cast", {from}, to, {}, isTowardZero ? "[rounding = toward_zero]" : ""};
  for (const std::uint64_t bits : sources)
    question.rows.push_back({bits, converted(from, to, bits, isTowardZero)});
  return question;
}

/// The numbers that the page names.
void addRecipes(std::vector<Case> &cases) {
  const auto recipe = [&](ElementKind from, ElementKind to,
                          const std::vector<std::pair<double, std::uint64_t>> &pairs) {
    ElementwiseCase question{"cast", {from}, to, {}};
    for (const auto &[number, bits] : pairs) question.rows.push_back({bitsOf(from, number), bits});
    cases.push_back(toCase(question));
  };
  recipe(ElementKind::F32, ElementKind::F8E4M3FN,
         {{17, 0x58},
          {19, 0x5a},
          {448, 0x7e},
          {449, 0x7e},
          {INFINITY, 0x7e},
          {-INFINITY, 0xfe},
          {0x1p-10, 0x00},
          {-0.0, 0x80}});
  recipe(ElementKind::F32, ElementKind::F8E5M2, {{57344, 0x7b}, {1e6f, 0x7b}, {INFINITY, 0x7b}});
  recipe(ElementKind::F32, ElementKind::F8E4M3FNUZ,
         {{240, 0x7f}, {1000, 0x7f}, {-0.0, 0x00}, {NAN, 0x80}, {-0x1p-20, 0x00}});
  recipe(ElementKind::F32, ElementKind::F8E5M2FNUZ, {{57344, 0x7f}, {-0.0, 0x00}, {NAN, 0x80}});
  recipe(ElementKind::F32, ElementKind::F4E2M1,
         {{0.25, 0x0}, {0.75, 0x2}, {2.5, 0x4}, {5, 0x6}, {7, 0x7}, {-6, 0xf}, {NAN, 0x7}});
  recipe(ElementKind::F32, ElementKind::E8M0,
         {{1, 127}, {0, 0}, {-1, 255}, {3, 128}, {0x1p-127, 0}, {INFINITY, 254}, {NAN, 255}});
  recipe(ElementKind::F32, ElementKind::I8, {{300, 127}, {-300, 0x80}, {NAN, 0}, {-1.9f, 0xff}});
  recipe(ElementKind::F32, ElementKind::Bool, {{NAN, 1}, {0, 0}, {-0.0, 0}, {0x1p-149, 1}});
}

} // namespace

std::vector<Case> conversionCases() {
  std::vector<Case> cases;
  for (const ElementKind from : ir::allElementKinds()) {
    const std::vector<std::uint64_t> sources = sourcesOf(from);
    for (const ElementKind to : ir::allElementKinds()) {
      cases.push_back(toCase(conversion(from, to, sources, false)));
      if (isAnyFloat(from) && isAnyFloat(to))
        cases.push_back(toCase(conversion(from, to, sources, true)));
    }
  }
  addRecipes(cases);
  return cases;
}

} // namespace imbrex::semantics
