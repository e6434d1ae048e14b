#include "backend/machine/occupancy.h"

#include "llvm/Support/MathExtras.h"

#include <array>
#include <utility>

namespace imbrex::machine {
namespace {

std::int32_t ceilDiv(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(llvm::divideCeil(a, b));
}

std::int32_t roundUp(std::int32_t x, std::int32_t granule) { return ceilDiv(x, granule) * granule; }

std::int32_t blocksByRegisters(const Machine &machine, const BlockDemand &demand,
                               std::int32_t warps) {
  if (demand.registersPerThread > machine.maxRegistersPerThread) return 0;
  const std::int32_t ofThread =
      roundUp(std::max(demand.registersPerThread, 1), machine.registerGranule);
  const std::int32_t ofWarp = ofThread * machine.warpSize;
  const std::int32_t ofPartition = machine.registersPerCore / machine.partitionsPerCore;
  return ofPartition / ofWarp * machine.partitionsPerCore / warps;
}

std::int32_t blocksBySharedMemory(const Machine &machine, const BlockDemand &demand) {
  if (demand.sharedMemoryBytes > machine.sharedMemoryBytes) return 0;
  const std::int32_t ofBlock = roundUp(demand.sharedMemoryBytes + machine.reservedSharedMemoryBytes,
                                       machine.sharedMemoryGranule);
  return ofBlock == 0 ? machine.maxWarpsPerCore : machine.sharedMemoryPerCore / ofBlock;
}

/// On AMD's machines blocks are counted by their barriers, of which a block of one warp has none.
std::int32_t blocksAtMost(const Machine &machine, std::int32_t warps) {
  const bool needsNone = machine.family == Family::Amdgpu && warps == 1;
  return needsNone ? machine.maxWarpsPerCore : machine.maxBlocksPerCore;
}

} // namespace

std::int32_t registersOfThread(const Machine &machine, std::int32_t threads) {
  return std::min(machine.maxRegistersPerThread, machine.registersPerCore / threads);
}

bool canHaveTwice(const Machine &machine, std::int32_t threads) {
  const std::int32_t twice = 2 * threads;
  return twice <= machine.maxThreads &&
         twice * registersOfThread(machine, threads) <= machine.registersPerCore;
}

std::string_view toText(OccupancyLimit limit) {
  switch (limit) {
  case OccupancyLimit::Warps: return "warps";
  case OccupancyLimit::Blocks: return "blocks";
  case OccupancyLimit::Registers: return "registers";
  case OccupancyLimit::SharedMemory: return "shared memory";
  }
  return {};
}

Occupancy occupancyOf(const Machine &machine, const BlockDemand &demand) {
  const std::int32_t warps = ceilDiv(demand.threads, machine.warpSize);
  const std::array<std::pair<OccupancyLimit, std::int32_t>, 4> limits{{
      {OccupancyLimit::Warps,
       demand.threads > machine.maxThreads ? 0 : machine.maxWarpsPerCore / warps},
      {OccupancyLimit::Blocks, blocksAtMost(machine, warps)},
      {OccupancyLimit::Registers, blocksByRegisters(machine, demand, warps)},
      {OccupancyLimit::SharedMemory, blocksBySharedMemory(machine, demand)},
  }};
  auto least = limits[0];
  for (const auto &limit : limits)
    if (limit.second < least.second) least = limit;
  return {
      .blocksPerCore = least.second, .warpsPerCore = least.second * warps, .limit = least.first};
}

} // namespace imbrex::machine
