#include "tests/support/reference_number.h"
#include "tests/support/semantics.h"
#include "tests/support/semantics_tiles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace imbrex::semantics {
namespace {

using ir::ElementKind;
using ir::Shape;

double f64Of(ElementKind kind, std::uint64_t bits) {
  const std::uint64_t wide = converted(kind, ElementKind::F64, bits);
  return std::bit_cast<double>(wide);
}

/// Numbers of moderate size that the element holds.
Tile randomTile(ElementKind element, const Shape &shape, std::mt19937 &random) {
  Tile result{element, shape, {}};
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const double number = std::uniform_real_distribution<double>(-4, 4)(random);
    const double scaled = ir::isInteger(element) ? std::round(number * 30) : number;
    result.bits.push_back(
        converted(ElementKind::F64, element, std::bit_cast<std::uint64_t>(scaled)));
  }
  return result;
}

/// a · b + c for a [batch, m, k], b [batch, k, n] in f64, which is far finer than any sum in f32.
Tile reference(const Tile &a, const Tile &b, const Tile &c) {
  const std::int32_t last = a.shape.rank() - 1;
  const std::int64_t m = a.shape[last - 1], k = a.shape[last], n = b.shape[last];
  Tile result = c;
  for (std::int64_t i = 0; i < c.shape.elements(); ++i) {
    const std::int64_t column = i % n, row = i / n % m, batch = i / n / m;
    double sum = f64Of(c.element, c.bits[static_cast<size_t>(i)]);
    for (std::int64_t j = 0; j < k; ++j)
      sum += f64Of(a.element, a.bits[static_cast<size_t>((batch * m + row) * k + j)]) *
             f64Of(b.element, b.bits[static_cast<size_t>((batch * k + j) * n + column)]);
    result.bits[static_cast<size_t>(i)] =
        converted(ElementKind::F64, c.element, std::bit_cast<std::uint64_t>(sum));
  }
  return result;
}

OpCase product(ElementKind a, ElementKind b, ElementKind c, const std::vector<Shape> &shapes,
               const std::string &attributes, double tolerance, unsigned seed) {
  std::mt19937 random(seed);
  const Tile left = randomTile(a, shapes[0], random), right = randomTile(b, shapes[1], random);
  const Tile start = randomTile(c, shapes[2], random);
  return {"dot of " + std::string(ir::info(a).name) + " and " + std::string(ir::info(b).name) +
              " " + ir::toString(shapes[0]) + " " + attributes,
          "dot",
          attributes,
          {left, right, start},
          {reference(left, right, start)},
          {},
          tolerance};
}

bool isEightBitFloat(ElementKind kind) {
  return ir::isNarrowFloat(kind) && kind != ElementKind::F4E2M1 && kind != ElementKind::E8M0;
}

void addAllPairs(std::vector<OpCase> &cases) {
  constexpr double kF32Sums = 1e-5, kF64Sums = 1e-13;
  const std::vector<Shape> shapes = {{5, 7}, {7, 3}, {5, 3}};
  unsigned seed = 1;
  for (const ElementKind a : {ElementKind::F16, ElementKind::BF16, ElementKind::F32})
    cases.push_back(product(a, a, ElementKind::F32, shapes, "", kF32Sums, seed++));
  cases.push_back(
      product(ElementKind::F64, ElementKind::F64, ElementKind::F64, shapes, "", kF64Sums, seed++));
  for (const ElementKind a : {ElementKind::I8, ElementKind::U8})
    cases.push_back(product(a, a, ElementKind::I32, shapes, "", 0, seed++));
  for (const ElementKind a : ir::allElementKinds())
    for (const ElementKind b : ir::allElementKinds())
      if (isEightBitFloat(a) && isEightBitFloat(b))
        cases.push_back(product(a, b, ElementKind::F32, shapes, "", kF32Sums, seed++));
  cases.push_back(product(ElementKind::F8E5M2, ElementKind::F8E5M2, ElementKind::F32, shapes,
                          "[promote_every = 4]", kF32Sums, seed++));
  cases.push_back(product(ElementKind::F32, ElementKind::F32, ElementKind::F32,
                          {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}}, "", kF32Sums, seed++));
  cases.push_back(product(ElementKind::F32, ElementKind::F32, ElementKind::F32,
                          {{2, 3, 3, 4}, {2, 3, 4, 5}, {2, 3, 3, 5}}, "", kF32Sums, seed++));
  cases.push_back(product(ElementKind::F32, ElementKind::F32, ElementKind::F32,
                          {{1, 1}, {1, 1}, {1, 1}}, "", kF32Sums, seed++));
  for (const auto &[precision, bound] : std::vector<std::pair<const char *, double>>{
           {"tf32", 1e-3}, {"tf32x3", 1e-5}, {"bf16x3", 1e-4}})
    cases.push_back(product(ElementKind::F32, ElementKind::F32, ElementKind::F32, shapes,
                            "[precision = " + std::string(precision) + "]", bound, seed++));
}

/// The pieces of the recipes, with sums so short that the result is exact.
void addRecipes(std::vector<OpCase> &cases) {
  const auto dot = [&](const char *name, const char *precision, const Tile &a, const Tile &b,
                       const Tile &c, const Tile &result) {
    cases.push_back(
        {name, "dot", "[precision = " + std::string(precision) + "]", {a, b, c}, {result}});
  };
  const Tile one = f32s({1, 1}, {1}), zero = f32s({1, 1}, {0});
  const auto number = [](double x) { return f32s({1, 1}, {x}); };
  dot("the sum of zeros below zero is one", "ieee", f32s({1, 2}, {0, -0.0}), f32s({2, 1}, {-1, 2}),
      number(-0.0), number(-0.0));
  dot("tf32 rounds half away from zero, up", "tf32", number(1 + 0x1p-11), one, zero,
      number(1 + 0x1p-10));
  dot("tf32 rounds half away from zero, down", "tf32", number(-1 - 0x1p-11), one, zero,
      number(-1 - 0x1p-10));
  dot("tf32 drops less than a half", "tf32", number(1 + 0x1p-11 - 0x1p-23), one, zero, one);
  dot("tf32 keeps infinity", "tf32", number(-kInf), one, zero, number(-kInf));
  dot("tf32 keeps NaN", "tf32", number(kNan), one, zero, number(kNan));
  dot("tf32x3 keeps 21 bits and more", "tf32x3", number(1 + 0x1p-20), one, zero,
      number(1 + 0x1p-20));
  dot("tf32x3 drops the product of the small pieces", "tf32x3", number(1 + 0x1p-12),
      number(1 + 0x1p-12), zero, number(1 + 0x1p-11));
  dot("tf32x3 of an infinity is an infinity", "tf32x3", number(kInf), number(2), zero,
      number(kInf));
  dot("bf16x3 keeps 16 bits", "bf16x3", number(1 + 0x1p-14), one, zero, number(1 + 0x1p-14));
  dot("bf16x3 drops the product of the small pieces, or is exact", "bf16x3", number(1 + 0x1p-9),
      number(1 + 0x1p-9), zero, number(1 + 0x1p-8));
  cases.back().tolerance = 0x1p-17;
  dot("bf16x3 of an infinity is an infinity", "bf16x3", number(kInf), number(2), zero,
      number(kInf));
}

// ---- dot_scaled

OpCase scaledProduct(ElementKind a, ElementKind b, bool scaleA, bool scaleB, unsigned seed,
                     ElementKind scaleElement = ElementKind::E8M0) {
  constexpr std::int64_t kM = 3, kN = 2, kK = 64;
  constexpr double kF32Sums = 1e-5;
  std::mt19937 random(seed);
  const bool isMx = scaleElement == ElementKind::E8M0;
  const std::int64_t perScale = isMx ? 32 : 16;
  Tile left = randomTile(a, {kM, kK}, random), right = randomTile(b, {kK, kN}, random);
  const auto scales = [&](std::int64_t rows) {
    Tile result{scaleElement, {rows, kK / perScale}, {}};
    for (std::int64_t i = 0; i < result.shape.elements(); ++i)
      result.bits.push_back(isMx ? 125 + random() % 5 : 40 + random() % 40 + random() % 2 * 128);
    return result;
  };
  const Tile c = randomTile(ElementKind::F32, {kM, kN}, random);
  OpCase question{"dot_scaled of " + std::string(ir::info(a).name) + " and " +
                      std::string(ir::info(b).name) + (isMx ? "" : " by f8e4m3fn"),
                  "dot_scaled",
                  std::string("[scale_a = ") + (scaleA ? "true" : "false") +
                      ", scale_b = " + (scaleB ? "true" : "false") + "]",
                  {left, right, c},
                  {},
                  {},
                  kF32Sums};
  // The same product of plain f64 numbers, each scaled by hand.
  Tile wideLeft{ElementKind::F64, left.shape, {}}, wideRight{ElementKind::F64, right.shape, {}};
  const Tile scalesA = scales(kM), scalesB = scales(kN);
  const auto scaled = [&](const Tile &from, size_t i, const Tile &scale, std::int64_t row,
                          std::int64_t k, bool isOn) {
    const auto at = static_cast<size_t>(row * (kK / perScale) + k / perScale);
    const double factor = isMx ? std::ldexp(1.0, static_cast<int>(scale.bits[at]) - 127)
                               : std::fabs(f64Of(scaleElement, scale.bits[at]));
    return std::bit_cast<std::uint64_t>(f64Of(from.element, from.bits[i]) * (isOn ? factor : 1));
  };
  for (std::int64_t i = 0; i < kM * kK; ++i)
    wideLeft.bits.push_back(scaled(left, static_cast<size_t>(i), scalesA, i / kK, i % kK, scaleA));
  for (std::int64_t i = 0; i < kK * kN; ++i)
    wideRight.bits.push_back(
        scaled(right, static_cast<size_t>(i), scalesB, i % kN, i / kN, scaleB));
  if (scaleA) question.inputs.push_back(scalesA);
  if (scaleB) question.inputs.push_back(scalesB);
  question.outputs.push_back(reference(wideLeft, wideRight, c));
  return question;
}

/// Of f4e2m1, two of which, neighbours along k, are a byte.
Tile packedAlong(const Tile &from, std::int32_t axis) {
  const Shape whole = from.shape;
  const std::int64_t step = axis == 0 ? whole[1] : 1;
  Tile bytes{ElementKind::U8, whole.withAxis(axis, whole[axis] / 2), {}};
  for (std::int64_t i = 0; i < bytes.shape.elements(); ++i) {
    const std::int64_t row = i / bytes.shape[1], column = i % bytes.shape[1];
    const auto low = static_cast<size_t>(axis == 0 ? 2 * row * whole[1] + column : 2 * i);
    bytes.bits.push_back(from.bits[low] | from.bits[low + static_cast<size_t>(step)] << 4);
  }
  return bytes;
}

OpCase packedProduct(unsigned seed) {
  OpCase question = scaledProduct(ElementKind::F4E2M1, ElementKind::F4E2M1, true, true, seed);
  question.name = "dot_scaled of bytes";
  question.inputs[0] = packedAlong(question.inputs[0], 1);
  question.inputs[1] = packedAlong(question.inputs[1], 0);
  return question;
}

void addScaled(std::vector<OpCase> &cases) {
  const std::vector formats = {ElementKind::F4E2M1, ElementKind::F8E4M3FN, ElementKind::F8E5M2,
                               ElementKind::F16, ElementKind::BF16};
  unsigned seed = 100;
  for (const ElementKind a : formats)
    for (const ElementKind b : formats) cases.push_back(scaledProduct(a, b, true, true, seed++));
  cases.push_back(scaledProduct(ElementKind::F4E2M1, ElementKind::BF16, true, false, seed++));
  cases.push_back(scaledProduct(ElementKind::F16, ElementKind::F4E2M1, false, true, seed++));
  cases.push_back(scaledProduct(ElementKind::BF16, ElementKind::F16, false, false, seed++));
  cases.push_back(packedProduct(seed++));
  for (const ElementKind a : {ElementKind::F4E2M1, ElementKind::F8E5M2})
    for (const bool isBScaled : {true, false})
      cases.push_back(
          scaledProduct(a, ElementKind::F4E2M1, true, isBScaled, seed++, ElementKind::F8E4M3FN));
  // Scale 0 is 2^-127, which f32 holds as a subnormal; 0xff is NaN.
  std::vector<double> row(32, 0.0), column(32, 0.0);
  row[0] = 2, column[0] = 1;
  const Tile a = tile(ElementKind::BF16, {1, 32}, row),
             b = tile(ElementKind::BF16, {32, 1}, column);
  const auto lone = [&](std::uint64_t scale, double result) {
    cases.push_back({"scale " + std::to_string(scale),
                     "dot_scaled",
                     "[scale_b = false]",
                     {a, b, f32s({1, 1}, {0}), {ElementKind::E8M0, {1, 1}, {scale}}},
                     {f32s({1, 1}, {result})}});
  };
  lone(0x00, 0x1p-126);
  lone(0xff, kNan);
}

} // namespace

std::vector<Case> productCases() {
  std::vector<OpCase> ops;
  addAllPairs(ops);
  addRecipes(ops);
  addScaled(ops);
  return toCases(ops);
}

} // namespace imbrex::semantics
