#include "backend/passes/units/unit_instructions.h"

#include "backend/analysis/matrix_product.h"
#include "backend/ir/products.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <optional>
#include <tuple>

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

namespace {

using Instructions = llvm::SmallVector<const MmaInstruction *, 8>;

Instructions instructionsFor(const machine::Machine &machine, const Kernel &kernel, const Op &dot,
                             const Elements &elements) {
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

/// Whether a unit that takes one element for another loses some: those that are subnormal there,
/// where it flushes them.
bool loses(const MmaInstruction &unit, ElementKind own, ElementKind cast) {
  if (own == cast || !unit.sumRules.flushesSubnormals || !isNarrowFloat(own)) return false;
  return llvm::APFloat::getSmallest(floatFormat(own)).convertToDouble() <
         llvm::APFloat::getSmallestNormalized(floatFormat(cast)).convertToDouble();
}

std::int64_t instructionsOf(const ProductShape &shape, const MmaInstruction &row) {
  const bool isTransposed = machine::isBestTransposed(row);
  const std::int64_t m = isTransposed ? shape.n : shape.m, n = isTransposed ? shape.m : shape.n;
  const auto count = [](std::int64_t extent, std::int64_t each) {
    return std::max<std::int64_t>(llvm::divideCeilSigned(extent, each), 1);
  };
  return count(m, row.m) * count(n, row.n) * count(shape.k, row.k) * shape.batches;
}

} // namespace

Candidates candidatesFor(const machine::Machine &machine, const Kernel &kernel, const Op &dot,
                         const Elements &elements) {
  const Instructions rows = instructionsFor(machine, kernel, dot, elements);
  const bool knowsCycles = llvm::all_of(
      rows, [&](const MmaInstruction *row) { return machine::unitCycles(machine, *row).isKnown; });
  Candidates found;
  for (const MmaInstruction *row : rows) {
    const bool flushes = loses(*row, elementOf(kernel, dot, 0), elements.a) ||
                         loses(*row, elementOf(kernel, dot, 1), elements.b);
    found.push_back({.unit = row,
                     .elements = elements,
                     .refusal = flushes ? Refusal::FlushesSubnormals : Refusal::None,
                     .isInCycles = knowsCycles,
                     .each = knowsCycles ? machine::unitCycles(machine, *row).cycles
                                         : std::int64_t{row->m} * row->n * row->k,
                     .instructions = instructionsOf(shapeOf(kernel, dot), *row)});
  }
  return found;
}

// --- what is best ---

bool isBetter(const Candidate &one, const Candidate &other) {
  const auto key = [](const Candidate &of) {
    return std::tuple(of.refusal != Refusal::None, of.way, of.time, of.cost(), of.instructions);
  };
  return key(one) < key(other);
}

const Candidate *bestOf(llvm::ArrayRef<Candidate> candidates) {
  const auto best = llvm::min_element(candidates, isBetter);
  return best != candidates.end() && best->refusal == Refusal::None ? &*best : nullptr;
}

/// A unit does some sixteen multiplications in the time that multiply-adds take for one.
constexpr std::int64_t kMostWaste = 16;

bool isWorthwhile(const ProductShape &shape, const Candidate &candidate) {
  return candidate.multiplications() <= kMostWaste * shape.multiplications();
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

namespace {

/// As own ones, but for the precision, if it asks for more than the least.
std::optional<Elements> lessPreciseWay(const Kernel &kernel, const Op &dot) {
  if (dot.kind != OpKind::Dot || elementOf(kernel, dot, 0) != ElementKind::F32) return std::nullopt;
  if (dot.attrs<DotAttrs>().precision == Precision::Tf32) return std::nullopt;
  return Elements{.a = ElementKind::F32, .b = ElementKind::F32, .precision = Precision::Tf32};
}

} // namespace

Candidates candidatesFor(const machine::Machine &machine, const Kernel &kernel, const Op &dot) {
  Candidates all;
  std::int32_t way = 0;
  for (const Elements &elements : waysOf(kernel, dot)) {
    for (Candidate &candidate : candidatesFor(machine, kernel, dot, elements)) {
      candidate.way = way;
      all.push_back(candidate);
    }
    ++way;
  }
  if (const auto less = lessPreciseWay(kernel, dot))
    for (Candidate &candidate : candidatesFor(machine, kernel, dot, *less)) {
      candidate.way = way;
      candidate.refusal = Refusal::LowerPrecision;
      all.push_back(candidate);
    }
  return all;
}

} // namespace imbrex::passes::units
