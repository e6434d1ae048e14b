#include "backend/passes/pipeline/order_products.h"

#include "backend/analysis/fragment_access.h"
#include "backend/analysis/slabs.h"
#include "backend/ir/products.h"
#include "backend/layout/conversion.h"
#include "backend/passes/pipeline/slots_for_reads.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <optional>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;
using layout::Bits;
using layout::Dim;
using layout::LinearLayout;
using machine::MmaInstruction;

/// Of each bit that counts k, as DotAttrs::depthOrder.
using DepthOrder = llvm::SmallVector<std::int64_t, 5>;

/// The bits of k that count the steps and the elements within a fragment's registers, and those
/// that count lanes, each by its place in the instruction's order.
struct DepthParts {
  llvm::SmallVector<std::int64_t, 8> ofRegisters, ofLanes;
};

DepthParts partsOf(const Kernel &kernel, const Op &dot, const MmaInstruction &unit,
                   std::int32_t bits) {
  const analysis::FragmentReads reads =
      analysis::fragmentReads(kernel, dot, 0, {.unit = unit, .bits = bits});
  const std::int32_t together = layout::bitsFor(depthOfElement(kernel, dot, 0));
  DepthParts parts;
  for (std::int64_t bit = 0; bit < together; ++bit) parts.ofRegisters.push_back(bit);
  for (const Bits column : reads.depths.columns(Dim::Register))
    if (column != 0) parts.ofRegisters.push_back(together + llvm::Log2_64(column));
  for (const Bits column : reads.depths.columns(Dim::Lane))
    if (column != 0) parts.ofLanes.push_back(together + llvm::Log2_64(column));
  llvm::sort(parts.ofRegisters);
  return parts;
}

/// The bits up to which k may be counted anew: of a multiple of so many no step is cut off, and
/// all have a scale in common.
std::int32_t freeBits(const MmaInstruction &unit, std::int64_t depth, std::int32_t bits) {
  if (unit.isScaled()) return layout::bitsFor(unit.scale.k);
  return std::min(bits, llvm::countr_zero(static_cast<std::uint64_t>(depth)));
}

/// Registers first, until a lane has this many bits side by side; then the lanes, then the other
/// registers.
DepthOrder sideBySide(const DepthParts &parts, std::int32_t besides, std::int32_t bits) {
  DepthOrder order(static_cast<std::size_t>(bits));
  std::int64_t next = 0;
  const auto give = [&](llvm::ArrayRef<std::int64_t> places) {
    for (const std::int64_t place : places)
      if (place < bits) order[static_cast<std::size_t>(place)] = next++;
  };
  const llvm::ArrayRef<std::int64_t> registers = parts.ofRegisters;
  const auto first = std::min(static_cast<std::size_t>(besides), registers.size());
  give(registers.take_front(first));
  give(parts.ofLanes);
  give(registers.drop_front(first));
  return order;
}

/// The order in which the lanes want of k what they have of a tile in registers; none where they
/// have no bits of it.
std::optional<DepthOrder> asHeld(const Kernel &kernel, const Op &dot, std::size_t operand,
                                 const MmaInstruction &unit, std::int32_t bits) {
  const LinearLayout &held = kernel.layout(kernel.layoutOf(dot.operand(operand)));
  const Dim axis = layout::axisDim(depthAxis(kernel, dot, operand));
  const std::int32_t together = layout::bitsFor(depthOfElement(kernel, dot, operand));
  const analysis::FragmentReads reads =
      analysis::fragmentReads(kernel, dot, operand, {.unit = unit, .bits = bits});
  constexpr std::int64_t kOpen = -1;
  DepthOrder order(static_cast<std::size_t>(bits), kOpen);
  for (const auto [wanted, has] :
       llvm::zip_equal(reads.depths.columns(Dim::Lane), held.columns(Dim::Lane))) {
    const Bits depth = held.outputPart(has, axis);
    if ((wanted == 0) != (depth == 0)) return std::nullopt;
    if (wanted == 0) continue;
    const std::size_t place = llvm::Log2_64(wanted) + static_cast<std::size_t>(together);
    if (place >= order.size()) return std::nullopt;
    order[place] = llvm::Log2_64(depth) + together;
  }
  std::int64_t next = 0;
  for (std::int64_t &bit : order) {
    if (bit != kOpen) continue;
    while (llvm::is_contained(order, next)) ++next;
    bit = next;
  }
  return order;
}

/// What an operand costs in one order.
class OperandCost {
public:
  OperandCost(const Kernel &kernel, const Op &dot, const machine::Machine &machine)
      : kernel_(kernel), dot_(dot), machine_(machine) {}

  std::int64_t of(std::size_t operand, const analysis::DepthCount &depth) const {
    const ValueId tile = dot_.operand(operand);
    const auto reads = analysis::fragmentReads(kernel_, dot_, operand, depth);
    const std::int32_t bits = storageBits(kernel_.type(tile).element());
    if (kernel_.type(tile).isShared())
      return analysis::planFragments(reads, bits, machine_,
                                     [&](const LinearLayout &places) {
                                       return analysis::PlacedTile{
                                           slotFor(kernel_, tile, places, machine_)};
                                     })
          .weight;
    const LinearLayout &held = kernel_.layout(kernel_.layoutOf(tile));
    const auto kind = planConversion(held, reads.places).kind;
    if (kind == layout::ConversionKind::None || kind == layout::ConversionKind::Registers) return 0;
    return analysis::planSlab(held, reads, bits, machine_).weight;
  }

private:
  const Kernel &kernel_;
  const Op &dot_;
  const machine::Machine &machine_;
};

DepthOrder bestOrder(const Kernel &kernel, const Op &dot, const MmaInstruction &unit,
                     const machine::Machine &machine) {
  const std::int64_t depth = depthOf(kernel, dot);
  const std::int32_t bits = layout::bitsFor(depth), free = freeBits(unit, depth, bits);
  llvm::SmallVector<DepthOrder, 4> orders{DepthOrder{}};
  if (unit.isScaled() || free >= analysis::depthBitsOf(unit)) {
    const DepthParts parts = partsOf(kernel, dot, unit, free);
    const std::int32_t elementBits = info(elementOf(kernel, dot, 0)).bits;
    const auto wide = static_cast<std::int32_t>(
        llvm::Log2_64(static_cast<std::uint64_t>(layout::kMaxAccessBytes * 8 / elementBits)));
    for (const std::int32_t besides : {wide, wide + 1})
      orders.push_back(sideBySide(parts, besides, free));
    if (free == bits || unit.isScaled())
      for (const std::size_t i : {0, 1})
        if (!kernel.type(dot.operand(i)).isShared())
          if (auto held = asHeld(kernel, dot, i, unit, bits)) orders.push_back(std::move(*held));
  }
  const OperandCost cost(kernel, dot, machine);
  std::optional<std::int64_t> least;
  DepthOrder best;
  for (const DepthOrder &order : orders) {
    if (!analysis::keepsTogether(kernel, dot, order)) continue;
    const analysis::DepthCount count{.unit = unit, .bits = bits, .order = order};
    const std::int64_t weight = cost.of(0, count) + cost.of(1, count);
    if (least && weight >= *least) continue;
    least = weight;
    best = order;
  }
  return best;
}

} // namespace

void orderProducts(Kernel &kernel, const PassContext &context) {
  walk(kernel.body(), [&](Op &op) {
    if (!isProduct(op)) return;
    if (const std::string why = analysis::whyNotOnUnit(kernel, op, context.machine); !why.empty()) {
      context.diagnostics.report(Diag::UnitOfProduct, op.where, unitAttrs(op).unit, why,
                                 context.machine.name);
      return;
    }
    if (const auto *unit = analysis::unitOf(kernel, op, context.machine))
      unitAttrs(op).depthOrder = bestOrder(kernel, op, *unit, context.machine);
  });
}

} // namespace imbrex::passes::pipeline
