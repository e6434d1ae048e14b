#include "backend/passes/pipeline/order_products.h"

#include "backend/analysis/depth_order.h"
#include "backend/analysis/fragment_access.h"
#include "backend/analysis/slabs.h"
#include "backend/ir/products.h"
#include "backend/ir/shared_tiles.h"
#include "backend/layout/conversion.h"
#include "backend/passes/pipeline/slots_for_reads.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <optional>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;
using analysis::DepthOrder;
using layout::Dim;
using layout::LinearLayout;
using machine::MmaInstruction;

/// The bits up to which k may be counted anew: of a multiple of so many no step is cut off, and
/// all have a scale in common.
std::int32_t freeBits(const MmaInstruction &unit, std::int64_t depth) {
  return unit.isScaled() ? layout::bitsFor(unit.scale.k) : analysis::freeDepthBits(depth);
}

/// An order of the tile's elements as one of k: f4e2m1 are two to a byte.
DepthOrder ofDepth(const DepthOrder &ofTile, std::int32_t together) {
  DepthOrder order;
  for (std::int64_t bit = 0; bit < together; ++bit) order.push_back(bit);
  for (const std::int64_t bit : ofTile) order.push_back(bit + together);
  return order;
}

/// What reading operands costs: rounds through shared memory first, which the plan of the loops
/// counted on not being there (plan_loop.h), and then weights.
struct ReadingCost {
  std::int64_t rounds = 0, weight = 0;
  friend auto operator<=>(const ReadingCost &, const ReadingCost &) = default;
  ReadingCost operator+(const ReadingCost &other) const {
    return {rounds + other.rounds, weight + other.weight};
  }
};

/// What an operand costs in one order.
class OperandCost {
public:
  OperandCost(const Kernel &kernel, const Op &dot, const machine::Machine &machine)
      : kernel_(kernel), dot_(dot), machine_(machine) {}

  ReadingCost of(std::size_t operand, const analysis::DepthCount &depth) const {
    const ValueId tile = dot_.operand(operand);
    const auto reads = analysis::fragmentReads(kernel_, dot_, operand, depth);
    const std::int32_t bits = storageBits(kernel_.type(tile).element());
    if (kernel_.type(tile).isShared()) {
      const ValueId ring = slotOf(kernel_, tile).operand(0);
      const auto plan =
          analysis::planFragments(analysis::inSlot(reads, inSlot(kernel_, tile)), bits, machine_,
                                  [&](const LinearLayout &places) {
                                    return slotLayoutsFor(kernel_, ring, places, machine_);
                                  });
      return {.weight = plan.weight};
    }
    const LinearLayout &held = kernel_.layout(kernel_.layoutOf(tile));
    if (staysInThreads(planConversion(held, reads.places))) return {};
    if (const auto weight = analysis::exchangeWeight(held, reads.places, bits, machine_))
      return {.weight = *weight};
    return {.rounds = 1, .weight = analysis::planSlab(held, reads, bits, machine_).weight};
  }

private:
  const Kernel &kernel_;
  const Op &dot_;
  const machine::Machine &machine_;
};

/// The order in which an operand in registers is there.
std::optional<DepthOrder> asHeld(const Kernel &kernel, const Op &dot, std::size_t operand,
                                 const MmaInstruction &unit, std::int32_t bits) {
  const ValueId tile = dot.operand(operand);
  if (kernel.type(tile).isShared()) return std::nullopt;
  const auto order = analysis::orderAsHeld(
      analysis::fragmentReads(kernel, dot, operand, {.unit = unit, .bits = bits}).places,
      kernel.layout(kernel.layoutOf(tile)), layout::axisDim(depthAxis(kernel, dot, operand)));
  if (!order) return std::nullopt;
  return ofDepth(*order, layout::bitsFor(depthOfElement(kernel, dot, operand)));
}

DepthOrder bestOrder(const Kernel &kernel, const Op &dot, const MmaInstruction &unit,
                     const machine::Machine &machine) {
  const std::int64_t depth = depthOf(kernel, dot);
  const std::int32_t bits = layout::bitsFor(depth), free = freeBits(unit, depth);
  llvm::SmallVector<DepthOrder, 4> orders{DepthOrder{}};
  if (unit.isScaled() || free >= analysis::depthBitsOf(unit)) {
    const auto reads = analysis::fragmentReads(kernel, dot, 0, {.unit = unit, .bits = free});
    const Dim axis = layout::axisDim(depthAxis(kernel, dot, 0));
    const std::int32_t together = layout::bitsFor(depthOfElement(kernel, dot, 0));
    const auto wide = static_cast<std::int32_t>(llvm::Log2_64(static_cast<std::uint64_t>(
        layout::kMaxAccessBytes * 8 / info(elementOf(kernel, dot, 0)).bits)));
    for (const std::int32_t besides : {wide, wide + 1})
      orders.push_back(
          ofDepth(analysis::sideBySide(reads.places, axis, besides - together), together));
    if (free == bits || unit.isScaled())
      for (const std::size_t i : {0, 1})
        if (auto held = asHeld(kernel, dot, i, unit, bits)) orders.push_back(std::move(*held));
  }
  const OperandCost cost(kernel, dot, machine);
  std::optional<ReadingCost> least;
  DepthOrder best;
  for (const auto [i, order] : llvm::enumerate(orders)) {
    const bool isTried = llvm::is_contained(llvm::ArrayRef(orders).take_front(i), order);
    if (isTried || !analysis::keepsTogether(kernel, dot, order)) continue;
    const analysis::DepthCount count{.unit = unit, .bits = bits, .order = order};
    ReadingCost both = cost.of(0, count);
    if (least && both >= *least) continue;
    both = both + cost.of(1, count);
    if (least && both >= *least) continue;
    least = both;
    best = order;
  }
  return best;
}

} // namespace

void orderProducts(Kernel &kernel, const PassContext &context) {
  walk(kernel.body(), [&](Op &op) {
    if (!isProduct(op)) return;
    if (const auto *unit = analysis::unitOf(kernel, op, context.machine))
      unitAttrs(op).depthOrder = bestOrder(kernel, op, *unit, context.machine);
  });
}

} // namespace imbrex::passes::pipeline
