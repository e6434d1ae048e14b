#include "backend/passes/pipeline/loop_costs.h"

#include "backend/analysis/fragment_access.h"
#include "backend/analysis/ring_copies.h"
#include "backend/ir/products.h"
#include "backend/ir/shared_tiles.h"
#include "backend/layout/conversion.h"
#include "backend/passes/layouts/fragments.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <limits>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;
using machine::MmaInstruction;

// Of one core: products of one element a cycle and lane, 128 lanes.
constexpr std::int64_t kLanesOfCore = 128;
// Four bytes of each bank.
constexpr std::int64_t kBankBytes = 4;

// What only gives elements other coordinates, which layouts do.
constexpr std::array kNaming{OpKind::Permute, OpKind::Broadcast};

std::int32_t clamped(std::int64_t cycles) {
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(cycles, std::numeric_limits<std::int32_t>::max()));
}

std::int64_t bytesOf(const Kernel &kernel, ValueId value) {
  const Type &type = kernel.type(value);
  const bool isTile = type.isTile() || type.isShared();
  return isTile ? type.shape().elements() * storageBits(type.element()) / 8 : 0;
}

/// Whether each lane has what it multiplies of an operand in its registers, or its warp has.
bool isHeld(const Kernel &kernel, const Op &dot, std::size_t operand,
            const analysis::FragmentReads &reads, const machine::Machine &machine) {
  const ValueId tile = dot.operand(operand);
  if (kernel.type(tile).isShared()) return false;
  const layout::LinearLayout &held = kernel.layout(kernel.layoutOf(tile));
  if (staysInThreads(planConversion(held, reads.places))) return true;
  const std::int32_t bits = storageBits(kernel.type(tile).element());
  if (analysis::exchangeWeight(held, reads.places, bits, machine)) return true;
  // Of products whose order of k comes later (order_products.h).
  if (dot.kind != OpKind::Dot || !unitAttrs(dot).depthOrder.empty()) return false;
  const layout::LinearLayout &sums = kernel.layout(kernel.layoutOf(dot.result()));
  const layouts::Fragments fragments = layouts::fragmentsOf(kernel, dot, operand, machine, sums);
  return areHeld(fragments, held) || comeWithinWarps(fragments, held, bits);
}

/// Whether a ring.store fills its slot, which has costs of its own.
bool isStored(const Kernel &kernel, ValueId tile) {
  return kernel.type(tile).isShared() &&
         analysis::filledBy(kernel, slotOf(kernel, tile).operand(0)) == Ahead::Stores;
}

/// Of what all warps together read of a tile, who want it in these places, and what fills it.
std::int64_t bytesReadIn(const layout::LinearLayout &places, const Kernel &kernel, ValueId tile) {
  const std::int64_t elements = std::int64_t{1} << places.inputBits();
  const std::int64_t read = elements * storageBits(kernel.type(tile).element()) / 8;
  return isStored(kernel, tile) ? read : bytesOf(kernel, tile) + read;
}

std::int64_t bytesThroughShared(const Kernel &kernel, const Op &dot, std::size_t operand,
                                const machine::Machine &machine) {
  const ValueId tile = dot.operand(operand);
  const auto reads =
      analysis::fragmentReads(kernel, dot, operand, *analysis::unitOf(kernel, dot, machine));
  return isHeld(kernel, dot, operand, reads, machine) ? 0 : bytesReadIn(reads.places, kernel, tile);
}

Work workOfProduct(const Kernel &kernel, const Op &dot, const machine::Machine &machine) {
  const MmaInstruction *unit = analysis::unitOf(kernel, dot, machine);
  if (!unit) {
    const std::int64_t sums = kernel.type(dot.result()).shape().elements();
    return {.lanes = sums * depthOf(kernel, dot) / kLanesOfCore};
  }
  const std::int64_t warps =
      llvm::divideCeilSigned(kernel.threads().warps, machine.partitionsPerCore);
  Work work{.units = warps * analysis::instructionsOfWarp(kernel, dot, *unit, unitAttrs(dot)) *
                     machine::unitCycles(machine, *unit).cycles};
  for (const std::size_t i : {0, 1})
    work += workToRead(bytesThroughShared(kernel, dot, i, machine), machine);
  return work;
}

} // namespace

schedule::DealtResource dealtUnits(const Kernel &kernel, const machine::Machine &machine) {
  return {.name = kMatrixUnits,
          .parts = std::max(1, machine.partitionsPerCore / kernel.threads().warps)};
}

std::int64_t matrixInstructionsOf(const Kernel &kernel, const Op &dot,
                                  const machine::Machine &machine) {
  const MmaInstruction *unit = analysis::unitOf(kernel, dot, machine);
  return unit ? analysis::instructionsOfWarp(kernel, dot, *unit, unitAttrs(dot)) : 0;
}

Work workOf(const Kernel &kernel, const Op &op, const machine::Machine &machine) {
  Work work;
  if (isProduct(op)) {
    work = workOfProduct(kernel, op, machine);
  } else if (!llvm::is_contained(kNaming, op.kind)) {
    std::int64_t elements = 0;
    for (const ValueId result : op.results)
      if (kernel.type(result).isTileOrPointers())
        elements += kernel.type(result).shape().elements();
    work.lanes = elements / kLanesOfCore;
  }
  for (const Block &region : op.regions)
    for (const auto &inner : region.ops) work += workOf(kernel, *inner, machine);
  return work;
}

Work workToRead(std::int64_t bytes, const machine::Machine &machine) {
  return {.shared = llvm::divideCeilSigned(bytes, machine.banks * kBankBytes)};
}

Work workToLoad(const Kernel &kernel, const Op &load, const machine::Machine &machine) {
  const layout::LinearLayout &held = kernel.layout(kernel.layoutOf(load.result()));
  return workToRead(bytesReadIn(held, kernel, load.operand(0)), machine);
}

schedule::Cost costOn(std::string_view resource, std::int64_t cycles) {
  if (cycles == 0) return {};
  return {.resource = std::string(resource), .cycles = clamped(cycles), .busy = clamped(cycles)};
}

schedule::Cost combinedCost(const Work &work) {
  const std::int64_t most = std::max({work.units, work.shared, work.lanes});
  schedule::Cost cost = costOn(work.units == most    ? kMatrixUnits
                               : work.shared == most ? kSharedMemory
                                                     : kLanes,
                               most);
  cost.cycles = clamped(work.cycles());
  return cost;
}

Source sourceOf(const Kernel &kernel) {
  return firstOp(kernel.body(), isOnUnit) ? Source::Cache : Source::Memory;
}

schedule::Cost copyCost(const machine::AsyncCopies &copies, std::int64_t bytes, Source source) {
  const std::int32_t rate =
      source == Source::Cache ? copies.cacheBytesPerCycle : copies.bytesPerCycle;
  const std::int32_t busy = clamped(bytes / rate + 1);
  return {.resource = std::string(kMemory), .cycles = copies.latency + busy, .busy = busy};
}

namespace {

/// Of global memory, that an op and its bodies touch.
struct Traffic {
  std::int64_t read = 0, written = 0;
};

Traffic trafficOf(const Kernel &kernel, const Op &op) {
  Traffic traffic;
  if (info(op.kind).effect == Effect::Read)
    for (const ValueId result : op.results) traffic.read += bytesOf(kernel, result);
  if (info(op.kind).effect == Effect::Write)
    for (const ValueId operand : op.operands)
      traffic.written = std::max(traffic.written, bytesOf(kernel, operand));
  for (const Block &region : op.regions)
    for (const auto &inner : region.ops) {
      const Traffic more = trafficOf(kernel, *inner);
      traffic.read += more.read, traffic.written += more.written;
    }
  return traffic;
}

} // namespace

schedule::Cost memoryCost(const Kernel &kernel, const Op &op, const machine::AsyncCopies &copies,
                          Source source) {
  const Traffic traffic = trafficOf(kernel, op);
  if (traffic.read + traffic.written == 0) return {};
  schedule::Cost cost = copyCost(copies, traffic.read + traffic.written, source);
  if (traffic.read == 0) cost.cycles = cost.busy; // nobody waits for it
  return cost;
}

} // namespace imbrex::passes::pipeline
