#include "backend/passes/layouts/fragments.h"

#include "backend/analysis/fragment_access.h"
#include "backend/analysis/operand_sources.h"
#include "backend/ir/products.h"
#include "backend/layout/bank_conflicts.h"
#include "backend/passes/layouts/cost.h"

#include <algorithm>

namespace imbrex::passes::layouts {

using namespace ir;
using layout::Dim;
using layout::LinearLayout;

namespace {

bool readsRows(machine::MatrixLoads loads, const Kernel &kernel, ValueId operand) {
  return loads == machine::MatrixLoads::Rows16 &&
         storageBits(kernel.type(operand).element()) == 16 && !analysis::sourcesOf(kernel, operand);
}

} // namespace

Fragments fragmentsOf(const Kernel &kernel, const Op &dot, std::size_t operand,
                      const machine::Machine &machine, const LinearLayout &sums) {
  const auto &unit = *analysis::unitOf(kernel, dot, machine);
  const Type &tile = kernel.type(dot.operand(operand));
  const std::int32_t axis = depthAxis(kernel, dot, operand);
  const std::int32_t bits = layout::bitsFor(depthOf(kernel, dot));
  return {
      .places =
          analysis::fragmentReads(kernel, dot, operand, {.unit = unit, .bits = bits}, sums).places,
      .axis = axis,
      .isAnyOrder = dot.kind == OpKind::Dot &&
                    analysis::freeDepthBits(tile.shape()[axis]) == bits &&
                    bits >= analysis::depthBitsOf(unit),
      .areTransposed = machine::readsColumns(machine, storageBits(tile.element())),
      .keepsOrder = operand < 2 && readsRows(machine.matrixLoads, kernel, dot.operand(1 - operand)),
      .machine = &machine};
}

namespace {

/// Whether it is so of the places in the unit's own order of k, or in the order that is held.
bool inAnOrder(const Fragments &fragments, const LinearLayout &held,
               llvm::function_ref<bool(const LinearLayout &places)> isSo) {
  if (isSo(fragments.places)) return true;
  if (!fragments.isAnyOrder) return false;
  const Dim axis = layout::axisDim(fragments.axis);
  const auto order = analysis::orderAsHeld(fragments.places, held, axis);
  return order && isSo(analysis::reordered(fragments.places, axis, *order));
}

} // namespace

bool areHeld(const Fragments &fragments, const LinearLayout &held) {
  return inAnOrder(fragments, held, [&](const LinearLayout &places) {
    return conversionPath(held, places) == ConversionPath::Stay;
  });
}

bool comeWithinWarps(const Fragments &fragments, const LinearLayout &held,
                     std::int32_t elementBits) {
  return inAnOrder(fragments, held, [&](const LinearLayout &places) {
    return conversionPath(held, places) == ConversionPath::Shuffle &&
           analysis::exchangeWeight(held, places, elementBits, *fragments.machine);
  });
}

LinearLayout placesSideBySide(const Fragments &fragments, std::int32_t bits) {
  if (!fragments.isAnyOrder || fragments.keepsOrder) return fragments.places;
  const Dim axis = layout::axisDim(fragments.axis);
  return analysis::reordered(fragments.places, axis,
                             analysis::sideBySide(fragments.places, axis, bits));
}

LinearLayout computedLayout(const Kernel &kernel, const Op &dot, const Fragments &fragments) {
  const std::int64_t ofA = analysis::bitsOfSources(kernel, dot.operand(0)),
                     ofB = analysis::bitsOfSources(kernel, dot.operand(1));
  const std::int64_t least = ofA == 0 || ofB == 0 ? ofA + ofB : std::min(ofA, ofB);
  if (least == 0) return fragments.places;
  return placesSideBySide(fragments, layout::bitsFor(layout::kMaxAccessBytes * 8 / least));
}

} // namespace imbrex::passes::layouts
