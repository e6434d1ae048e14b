#include "backend/math/elementary.h"
#include "backend/math/native.h"
#include "tests/support/reference_number.h"
#include "tests/support/semantics.h"
#include "tests/support/semantics_tiles.h"

#include <bit>
#include <cmath>
#include <random>

// How near the functions are to the mathematical ones is tested with backend/math; here, that every
// executor computes these very functions, and their values at the edges.
namespace imbrex::semantics {
namespace {

using ir::ElementKind;

struct Function {
  const char *op;
  float (*single)(float x);
  double (*wide)(double x);
  std::vector<std::pair<double, double>> edges;
};

#define IMBREX_FUNCTION(name)                                                                      \
  #name, [](float x) { return math::name<math::Single>(x); },                                      \
      [](double x) { return math::name<math::Double>(x); }

const Function kFunctions[] = {
    {IMBREX_FUNCTION(exp), {{0, 1}, {-0.0, 1}, {kInf, kInf}, {-kInf, 0}, {kNan, kNan}}},
    {IMBREX_FUNCTION(exp2), {{0, 1}, {3, 8}, {-2, 0.25}, {kInf, kInf}, {-kInf, 0}, {kNan, kNan}}},
    {IMBREX_FUNCTION(expm1), {{-0.0, -0.0}, {kInf, kInf}, {-kInf, -1}, {-100, -1}, {kNan, kNan}}},
    {IMBREX_FUNCTION(log), {{1, 0}, {0, -kInf}, {-0.0, -kInf}, {-1, kNan}, {kInf, kInf}}},
    {IMBREX_FUNCTION(log2), {{8, 3}, {0.25, -2}, {0, -kInf}, {-1, kNan}, {kInf, kInf}}},
    {IMBREX_FUNCTION(log1p), {{-0.0, -0.0}, {-1, -kInf}, {-2, kNan}, {kInf, kInf}, {kNan, kNan}}},
    {IMBREX_FUNCTION(sin), {{0, 0}, {-0.0, -0.0}, {kInf, kNan}, {kNan, kNan}}},
    {IMBREX_FUNCTION(cos), {{0, 1}, {-0.0, 1}, {-kInf, kNan}, {kNan, kNan}}},
    {IMBREX_FUNCTION(tan), {{0, 0}, {-0.0, -0.0}, {kInf, kNan}, {kNan, kNan}}},
    {IMBREX_FUNCTION(tanh), {{-0.0, -0.0}, {kInf, 1}, {-kInf, -1}, {100, 1}, {kNan, kNan}}},
    {IMBREX_FUNCTION(erf), {{-0.0, -0.0}, {kInf, 1}, {-kInf, -1}, {100, 1}, {kNan, kNan}}},
    {IMBREX_FUNCTION(rsqrt), {{4, 0.5}, {0, kInf}, {-0.0, -kInf}, {-1, kNan}, {kInf, 0}}},
};
#undef IMBREX_FUNCTION

std::uint64_t resultOf(const Function &function, ElementKind element, std::uint64_t bits) {
  if (element == ElementKind::F64)
    return std::bit_cast<std::uint64_t>(function.wide(std::bit_cast<double>(bits)));
  const auto single = static_cast<std::uint32_t>(converted(element, ElementKind::F32, bits));
  const float result = function.single(std::bit_cast<float>(single));
  return converted(ElementKind::F32, element, std::bit_cast<std::uint32_t>(result));
}

/// Every code of the halves; of f32 and f64 bits at random, and numbers of moderate size.
std::vector<std::uint64_t> argumentsOf(ElementKind element) {
  constexpr unsigned kSeed = 7;
  constexpr int kCount = 2000;
  std::vector<std::uint64_t> all;
  if (ir::info(element).bits == 16) {
    for (std::uint64_t code = 0; code < 0x10000; ++code) all.push_back(code);
    return all;
  }
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < kCount; ++i) {
    all.push_back(random() >> (64 - ir::info(element).bits));
    const auto moderate = static_cast<double>(random() % 2000001) / 1e4 - 100;
    all.push_back(converted(ElementKind::F64, element, std::bit_cast<std::uint64_t>(moderate)));
  }
  return all;
}

} // namespace

std::vector<Case> elementaryCases() {
  std::vector<Case> cases;
  for (const ElementKind element :
       {ElementKind::F16, ElementKind::BF16, ElementKind::F32, ElementKind::F64}) {
    const std::vector<std::uint64_t> arguments = argumentsOf(element);
    for (const Function &function : kFunctions) {
      ElementwiseCase edges{function.op, {element}, element, {}};
      for (const auto &[x, y] : function.edges)
        edges.rows.push_back({bitsOf(element, x), bitsOf(element, y)});
      cases.push_back(toCase(edges));
      ElementwiseCase question{function.op, {element}, element, {}};
      for (const std::uint64_t x : arguments)
        question.rows.push_back({x, resultOf(function, element, x)});
      cases.push_back(toCase(question));
    }
  }
  return cases;
}

} // namespace imbrex::semantics
