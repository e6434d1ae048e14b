#include "backend/passes/pipeline/loop_costs.h"

#include "backend/ir/products.h"

#include <algorithm>
#include <limits>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

// Of one core: products of one element a cycle and lane, 128 lanes; bytes of shared memory.
constexpr std::int64_t kLanes = 128, kSharedBytesPerCycle = 128;
constexpr std::string_view kMemory = "memory";

std::int32_t cycles(std::int64_t number) {
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(number, std::numeric_limits<std::int32_t>::max()));
}

std::int64_t bytesOf(const Kernel &kernel, ValueId value) {
  const Type &type = kernel.type(value);
  return type.isTile() ? type.shape().elements() * storageBits(type.element()) / 8 : 0;
}

} // namespace

std::int64_t computeCycles(const Kernel &kernel, const Op &op) {
  std::int64_t work = 0;
  if (isProduct(op)) {
    work = kernel.type(op.result()).shape().elements() * depthOf(kernel, op);
  } else {
    for (const ValueId result : op.results)
      if (kernel.type(result).isTileOrPointers()) work += kernel.type(result).shape().elements();
  }
  std::int64_t cycles = work / kLanes;
  for (const Block &region : op.regions)
    for (const auto &inner : region.ops) cycles += computeCycles(kernel, *inner);
  return cycles;
}

schedule::Cost copyCost(const machine::AsyncCopies &copies, std::int64_t bytes) {
  const std::int32_t busy = cycles(bytes / copies.bytesPerCycle + 1);
  return {.resource = std::string(kMemory), .cycles = copies.latency + busy, .busy = busy};
}

schedule::Cost readCost(std::int64_t bytes, std::int64_t compute) {
  return {.cycles = cycles(bytes / kSharedBytesPerCycle + 1 + compute)};
}

schedule::Cost memoryCost(const Kernel &kernel, const Op &op, const machine::AsyncCopies &copies) {
  std::int64_t bytes = 0;
  const bool writes = info(op.kind).effect == Effect::Write;
  if (info(op.kind).effect == Effect::Read)
    for (const ValueId result : op.results) bytes += bytesOf(kernel, result);
  if (writes)
    for (const ValueId operand : op.operands) bytes = std::max(bytes, bytesOf(kernel, operand));
  if (bytes == 0 || copies.bytesPerCycle == 0) return {};
  schedule::Cost cost = copyCost(copies, bytes);
  if (writes) cost.cycles = cost.busy; // nobody waits for it
  return cost;
}

} // namespace imbrex::passes::pipeline
