#include "backend/passes/units/unit_instructions.h"

#include "backend/analysis/matrix_product.h"
#include "backend/ir/products.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace imbrex::passes::units {

using namespace ir;
using machine::MmaInstruction;

ProductShape shapeOf(const Kernel &kernel, const Op &dot) {
  const Shape &c = kernel.type(dot.result()).shape();
  const std::int32_t rank = c.rank();
  return {c[rank - 2], c[rank - 1], depthOf(kernel, dot),
          llvm::product_of(c.extents().drop_back(2))};
}

// --- instructions for elements ---

Instructions instructionsFor(const machine::Machine &machine, const Kernel &kernel, const Op &dot,
                             Elements elements) {
  Instructions found;
  const auto sums = analysis::matrixElementOf(kernel.type(dot.result()).element(), Precision::Ieee);
  const auto a = analysis::matrixElementOf(elements.a, elements.precision),
             b = analysis::matrixElementOf(elements.b, elements.precision);
  if (!a || !b || !sums) return found;
  for (const MmaInstruction *row : mmaInstructionsOf(machine)) {
    const bool isTransposed = machine::isBestTransposed(*row);
    if (row->a == (isTransposed ? *b : *a) && row->b == (isTransposed ? *a : *b) &&
        row->sums == *sums && row->scale == elements.scale &&
        machine::lanesOf(*row) == machine.warpSize)
      found.push_back(row);
  }
  return found;
}

namespace {

/// Whether a unit that takes one element for another loses some: those that are subnormal there,
/// where it flushes them.
bool loses(const MmaInstruction &unit, ElementKind own, ElementKind cast) {
  if (own == cast || !unit.sumRules.flushesSubnormals || !isNarrowFloat(own)) return false;
  return llvm::APFloat::getSmallest(floatFormat(own)).convertToDouble() <
         llvm::APFloat::getSmallestNormalized(floatFormat(cast)).convertToDouble();
}

} // namespace

Instructions exactInstructionsFor(const machine::Machine &machine, const Kernel &kernel,
                                  const Op &dot, Elements elements) {
  Instructions rows = instructionsFor(machine, kernel, dot, elements);
  llvm::erase_if(rows, [&](const MmaInstruction *unit) {
    return loses(*unit, elementOf(kernel, dot, 0), elements.a) ||
           loses(*unit, elementOf(kernel, dot, 1), elements.b);
  });
  return rows;
}

// --- what is best ---

UnitCost costOf(const ProductShape &shape, const MmaInstruction &row, bool knowsCycles) {
  const bool isTransposed = machine::isBestTransposed(row);
  const std::int64_t m = isTransposed ? shape.n : shape.m, n = isTransposed ? shape.m : shape.n;
  const auto count = [](std::int64_t extent, std::int64_t each) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(llvm::divideCeil(extent, each)), 1);
  };
  const std::int64_t instructions =
      count(m, row.m) * count(n, row.n) * count(shape.k, row.k) * shape.batches;
  const std::int64_t each = knowsCycles ? row.cycles : std::int64_t{row.m} * row.n * row.k;
  return {instructions * each, instructions};
}

bool knowCycles(llvm::ArrayRef<const MmaInstruction *> rows) {
  return llvm::none_of(rows, [](const MmaInstruction *row) { return row->cycles == 0; });
}

const MmaInstruction *cheapestOf(llvm::ArrayRef<const MmaInstruction *> rows,
                                 const ProductShape &shape) {
  const bool knowsCycles = knowCycles(rows);
  const MmaInstruction *best = nullptr;
  for (const MmaInstruction *row : rows)
    if (!best || costOf(shape, *row, knowsCycles) < costOf(shape, *best, knowsCycles)) best = row;
  return best;
}

/// A unit does some sixteen multiplications in the time that multiply-adds take for one.
constexpr std::int64_t kMostWaste = 16;

bool isWorthwhile(const ProductShape &shape, const MmaInstruction &row) {
  const auto [made, instructions] = costOf(shape, row, false);
  return made <= kMostWaste * shape.multiplications();
}

// --- elements for a unit ---

namespace {

bool isNarrowOr(ElementKind element, ElementKind other) {
  return isNarrowFloat(element) || element == other;
}

/// Of a scaled product, the cheapest first; all are exact, as far as ranges go. Elements of 4 and 8
/// bits have no more than bf16 has, also times their scales; all have no more than tf32.
llvm::SmallVector<Elements, 4> scaledWays(const Kernel &kernel, const Op &dot) {
  const ElementKind a = elementOf(kernel, dot, 0), b = elementOf(kernel, dot, 1);
  const bool hasScales = scaleOf(dot, 0) || scaleOf(dot, 1);
  const auto asF8 = [](ElementKind element) {
    return element == ElementKind::F4E2M1 ? ElementKind::F8E4M3FN : element;
  };
  llvm::SmallVector<Elements, 4> ways;
  if (isNarrowFloat(a) && isNarrowFloat(b)) {
    const auto scale = analysis::blockScaleOf(kernel, dot);
    if (scale && (hasScales || a != asF8(a) || b != asF8(b)))
      ways.push_back({.a = a, .b = b, .scale = *scale});
    if (!hasScales) ways.push_back({.a = asF8(a), .b = asF8(b)});
  }
  for (const ElementKind element : {ElementKind::F16, ElementKind::BF16})
    if (isNarrowOr(a, element) && isNarrowOr(b, element) &&
        (element == ElementKind::BF16 || !hasScales))
      ways.push_back({.a = element, .b = element});
  for (const Precision precision : {Precision::Tf32, Precision::Ieee})
    ways.push_back({.a = ElementKind::F32, .b = ElementKind::F32, .precision = precision});
  return ways;
}

} // namespace

llvm::SmallVector<Elements, 4> waysOf(const Kernel &kernel, const Op &dot) {
  if (dot.kind == OpKind::DotScaled) return scaledWays(kernel, dot);
  const Elements own{.a = elementOf(kernel, dot, 0),
                     .b = elementOf(kernel, dot, 1),
                     .precision = dot.attrs<DotAttrs>().precision};
  llvm::SmallVector<Elements, 4> ways{own};
  if (isNarrowFloat(own.a) && isNarrowFloat(own.b))
    for (const ElementKind element : {ElementKind::F16, ElementKind::BF16})
      ways.push_back({.a = element, .b = element});
  return ways;
}

// --- why not ---

std::string whyNoUnit(const Kernel &kernel, const Op &dot, const machine::Machine &machine) {
  const ProductShape shape = shapeOf(kernel, dot);
  for (const Elements &elements : waysOf(kernel, dot)) {
    const auto rows = exactInstructionsFor(machine, kernel, dot, elements);
    if (rows.empty()) continue;
    const MmaInstruction *unit = cheapestOf(rows, shape);
    if (!isWorthwhile(shape, *unit))
      return "of " + std::string(unit->intrinsic) + " one multiplication in " +
             std::to_string(std::get<0>(costOf(shape, *unit, false)) / shape.multiplications()) +
             " would be wanted; tiles of more rows or columns would use it";
  }
  const ElementKind a = elementOf(kernel, dot, 0), b = elementOf(kernel, dot, 1),
                    sums = kernel.type(dot.result()).element();
  std::string why = "no matrix instruction of " + std::string(machine.name) + " multiplies " +
                    std::string(info(a).name) + " by " + std::string(info(b).name) + " onto " +
                    std::string(info(sums).name);
  if (a == ElementKind::F32 && b == a && dot.kind == OpKind::Dot) {
    const auto makes = [&](ElementKind element, Precision precision) {
      return !instructionsFor(machine, kernel, dot, {element, element, precision}).empty();
    };
    if (makes(ElementKind::F32, Precision::Tf32))
      why += "; with precision tf32 or tf32x3 one does";
    else if (makes(ElementKind::BF16, Precision::Ieee) && machine::hasBf16Op(machine, "cast"))
      why += "; with precision bf16x3 one does"; // as split-products decides
  }
  return why;
}

} // namespace imbrex::passes::units
