#include "tests/support/semantics.h"
#include "tests/support/semantics_tiles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace imbrex::semantics {
namespace {

using ir::ElementKind;

constexpr ElementKind kFloats[] = {ElementKind::F16, ElementKind::BF16, ElementKind::F32,
                                   ElementKind::F64};

/// Rows of small numbers that every float holds, the result last.
struct Rows {
  const char *op;
  std::vector<std::vector<double>> rows;
};

const Rows kArithmetic[] = {
    {"neg", {{1.5, -1.5}, {0.0, -0.0}, {-0.0, 0.0}, {kInf, -kInf}, {kNan, kNan}}},
    {"abs", {{-1.5, 1.5}, {-0.0, 0.0}, {-kInf, kInf}, {kNan, kNan}}},
    {"floor",
     {{1.5, 1}, {-1.5, -2}, {-0.5, -1}, {0.5, 0}, {-0.0, -0.0}, {kInf, kInf}, {kNan, kNan}}},
    {"ceil", {{1.5, 2}, {-1.5, -1}, {-0.5, -0.0}, {0.5, 1}, {-0.0, -0.0}, {-kInf, -kInf}}},
    {"round", {{0.5, 1}, {1.5, 2}, {2.5, 3}, {-0.5, -1}, {-2.5, -3}, {0.25, 0}, {-0.25, -0.0}}},
    {"rint", {{0.5, 0}, {1.5, 2}, {2.5, 2}, {-0.5, -0.0}, {-1.5, -2}, {3.5, 4}, {kNan, kNan}}},
    {"trunc", {{1.75, 1}, {-1.75, -1}, {-0.5, -0.0}, {kInf, kInf}, {kNan, kNan}}},
    {"sqrt", {{4, 2}, {2.25, 1.5}, {0.0, 0.0}, {-0.0, -0.0}, {-1, kNan}, {kInf, kInf}}},
    {"add",
     {{1, 2, 3},
      {0.0, -0.0, 0.0},
      {-0.0, -0.0, -0.0},
      {1, -1, 0.0},
      {kInf, 1, kInf},
      {kInf, -kInf, kNan},
      {kNan, 1, kNan}}},
    {"sub", {{1, 2, -1}, {1, 1, 0.0}, {-0.0, 0.0, -0.0}, {kInf, kInf, kNan}, {1, kNan, kNan}}},
    {"mul", {{3, -2, -6}, {0.0, -1, -0.0}, {0, kInf, kNan}, {kInf, -2, -kInf}, {kNan, 0, kNan}}},
    {"div",
     {{3, 2, 1.5},
      {1, 0.0, kInf},
      {1, -0.0, -kInf},
      {-1, 0.0, -kInf},
      {0, 0, kNan},
      {1, kInf, 0},
      {kInf, kInf, kNan},
      {kNan, 1, kNan}}},
    {"rem",
     {{7, 3, 1},
      {-7, 3, -1},
      {7, -3, 1},
      {5.5, 2, 1.5},
      {6, 3, 0.0},
      {-6, 3, -0.0},
      {1, 0, kNan},
      {kInf, 2, kNan},
      {2, kInf, 2},
      {-0.0, 2, -0.0},
      {kNan, 2, kNan}}},
    {"min",
     {{1, 2, 1},
      {kNan, 2, 2},
      {2, kNan, 2},
      {kNan, kNan, kNan},
      {0.0, -0.0, -0.0},
      {-0.0, 0.0, -0.0},
      {-kInf, 0, -kInf},
      {kInf, kNan, kInf}}},
    {"max",
     {{1, 2, 2},
      {kNan, 2, 2},
      {2, kNan, 2},
      {kNan, kNan, kNan},
      {0.0, -0.0, 0.0},
      {-0.0, 0.0, 0.0},
      {kInf, 0, kInf},
      {-kInf, kNan, -kInf}}},
    {"min.nan",
     {{1, 2, 1}, {kNan, 2, kNan}, {2, kNan, kNan}, {0.0, -0.0, -0.0}, {-0.0, 0.0, -0.0}}},
    {"max.nan", {{1, 2, 2}, {kNan, 2, kNan}, {2, kNan, kNan}, {0.0, -0.0, 0.0}, {-0.0, 0.0, 0.0}}},
    {"fma",
     {{2, 3, 4, 10},
      {0.0, 1, -0.0, 0.0},
      {-0.0, 1, -0.0, -0.0},
      {kInf, 0, 1, kNan},
      {kInf, 1, -kInf, kNan},
      {1, 1, kNan, kNan}}},
};

const Rows kFloatComparisons[] = {
    {"eq", {{1, 1, 1}, {1, 2, 0}, {0.0, -0.0, 1}, {kNan, kNan, 0}, {kNan, 1, 0}, {kInf, kInf, 1}}},
    {"ne", {{1, 1, 0}, {1, 2, 1}, {0.0, -0.0, 0}, {kNan, kNan, 1}, {1, kNan, 1}}},
    {"lt", {{1, 2, 1}, {2, 1, 0}, {1, 1, 0}, {-0.0, 0.0, 0}, {kNan, 1, 0}, {1, kNan, 0}}},
    {"le", {{1, 2, 1}, {2, 1, 0}, {1, 1, 1}, {0.0, -0.0, 1}, {kNan, 1, 0}, {kNan, kNan, 0}}},
    {"gt", {{1, 2, 0}, {2, 1, 1}, {1, 1, 0}, {0.0, -0.0, 0}, {kNan, 1, 0}, {1, kNan, 0}}},
    {"ge", {{1, 2, 0}, {2, 1, 1}, {1, 1, 1}, {-0.0, 0.0, 1}, {kNan, 1, 0}, {kNan, kNan, 0}}},
};

Case caseOf(const Rows &table, ElementKind element, ElementKind result) {
  const std::vector operands(table.rows[0].size() - 1, element);
  ElementwiseCase question{table.op, operands, result, {}};
  for (const auto &numbers : table.rows) {
    question.rows.emplace_back();
    for (size_t i = 0; i < numbers.size(); ++i)
      question.rows.back().push_back(bitsOf(i < operands.size() ? element : result, numbers[i]));
  }
  return toCase(question);
}

/// Whole rows of bits, where the numbers are peculiar to one format.
void addBits(std::vector<Case> &cases, const char *op, ElementKind element,
             std::vector<std::vector<std::uint64_t>> rows) {
  const std::vector operands(rows[0].size() - 1, element);
  cases.push_back(toCase(ElementwiseCase{op, operands, element, std::move(rows)}));
}

/// Results that a second rounding, or a product rounded on its own, would spoil.
void addRoundingTraps(std::vector<Case> &cases) {
  const auto f32 = [](float value) -> std::uint64_t { return std::bit_cast<std::uint32_t>(value); };
  const auto f64 = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  // fmod(1e20, 3) = 2, where x - trunc(x / y) y is far off.
  addBits(cases, "rem", ElementKind::F32,
          {{f32(1e20f), f32(3), f32(2)}, {f32(-1e20f), f32(3), f32(-2)}});
  // (1 + 2^-12)^2 - (1 + 2^-11) = 2^-24: two roundings give 0.
  addBits(cases, "fma", ElementKind::F32,
          {{f32(1 + 0x1p-12f), f32(1 + 0x1p-12f), f32(-(1 + 0x1p-11f)), f32(0x1p-24f)}});
  addBits(cases, "fma", ElementKind::F64,
          {{f64(1 + 0x1p-27), f64(1 + 0x1p-27), f64(-(1 + 0x1p-26)), f64(0x1p-54)}});
  // 3 · 683 = 2049 is half way between two f16 and 9 · 29 = 261 between two bf16; what is added is
  // lost in f32 and in f64, but decides.
  const auto halves = [&](ElementKind element, const std::vector<std::vector<double>> &rows) {
    cases.push_back(caseOf(Rows{"fma", rows}, element, element));
  };
  halves(ElementKind::F16, {{3, 683, 0x1p-24, 2050}, {3, 683, -0x1p-24, 2048}, {3, 683, 0, 2048}});
  halves(ElementKind::BF16, {{9, 29, 0x1p-100, 262}, {9, 29, -0x1p-100, 260}, {9, 29, 0, 260}});
  // Overflow and the subnormals.
  addBits(cases, "add", ElementKind::F16,
          {{0x7bff, 0x4c00, 0x7c00}, {0x7bff, 0x4bff, 0x7bff}, {0x0001, 0x0001, 0x0002}});
  addBits(cases, "mul", ElementKind::F16,
          {{0x0001, 0x3800, 0x0000}, {0x0003, 0x3800, 0x0002}, {0x0400, 0x3800, 0x0200}});
  addBits(cases, "mul", ElementKind::BF16, {{0x0080, 0x3f00, 0x0040}, {0x7f00, 0x4000, 0x7f80}});
}

/// x / y rounds to q only if no other number is nearer: checked in exact integers through long
/// double (64 bits hold every product of two halves).
std::uint64_t nearestHalf(ElementKind element, long double exact) {
  // The candidates are the neighbours of what f64 rounds to.
  llvm::APFloat guess(static_cast<double>(exact));
  bool inexact = false;
  guess.convert(ir::floatFormat(element), llvm::APFloat::rmTowardZero, &inexact);
  llvm::APFloat next = guess;
  next.next(exact < 0);
  const auto distance = [&](llvm::APFloat candidate) {
    candidate.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return std::fabs(static_cast<long double>(candidate.convertToDouble()) - exact);
  };
  const std::uint64_t low = guess.bitcastToAPInt().getZExtValue();
  if (next.isInfinity()) return low;
  if (distance(guess) == distance(next)) return low % 2 == 0 ? low : low + 1;
  return distance(guess) < distance(next) ? low : next.bitcastToAPInt().getZExtValue();
}

/// Random halves of moderate size, each op against the exact result.
void addHalves(std::vector<Case> &cases, ElementKind element) {
  constexpr unsigned kSeed = 16;
  std::mt19937_64 random(kSeed);
  const auto operand = [&] {
    const double magnitude = std::ldexp(1.0 + static_cast<double>(random() % 128) / 128,
                                        static_cast<int>(random() % 16) - 8);
    return random() % 2 == 0 ? magnitude : -magnitude;
  };
  struct Exact {
    const char *op;
    long double (*value)(long double a, long double b);
  };
  constexpr Exact kExact[] = {
      {"add", [](long double a, long double b) { return a + b; }},
      {"sub", [](long double a, long double b) { return a - b; }},
      {"mul", [](long double a, long double b) { return a * b; }},
      {"div", [](long double a, long double b) { return a / b; }},
  };
  for (const Exact &exact : kExact) {
    ElementwiseCase question{exact.op, {element, element}, element, {}};
    for (int i = 0; i < 2000; ++i) {
      const double a = operand(), b = operand();
      const long double value = exact.value(a, b);
      const std::uint64_t result = value == 0 ? 0 : nearestHalf(element, value);
      question.rows.push_back({bitsOf(element, a), bitsOf(element, b), result});
    }
    cases.push_back(toCase(question));
  }
}

void addSelects(std::vector<Case> &cases) {
  for (const ElementKind element : ir::allElementKinds()) {
    const std::uint64_t ones = ~std::uint64_t{0} >> (64 - ir::info(element).bits);
    cases.push_back(toCase(ElementwiseCase{"select",
                                           {ElementKind::Bool, element, element},
                                           element,
                                           {{1, ones, 0, ones}, {0, ones, 0, 0}, {0, 0, 1, 1}}}));
  }
}

} // namespace

std::vector<Case> floatCases() {
  std::vector<Case> cases;
  for (const ElementKind element : kFloats) {
    for (const Rows &table : kArithmetic) cases.push_back(caseOf(table, element, element));
    for (const Rows &table : kFloatComparisons)
      cases.push_back(caseOf(table, element, ElementKind::Bool));
  }
  addRoundingTraps(cases);
  addHalves(cases, ElementKind::F16);
  addHalves(cases, ElementKind::BF16);
  addSelects(cases);
  return cases;
}

} // namespace imbrex::semantics
