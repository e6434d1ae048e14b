#pragma once

#include "backend/machine/machine.h"

#include <cstdint>
#include <string_view>

namespace imbrex::machine {

/// What a block of a compiled kernel takes.
struct BlockDemand {
  std::int32_t threads = 0;
  std::int32_t registersPerThread = 0; ///< 32-bit ones; of AMD's the vector registers.
  std::int32_t sharedMemoryBytes = 0;
};

/// How many 32-bit registers each thread of such a block can have; of no other block on the core.
std::int32_t registersOfThread(const Machine &machine, std::int32_t threads);

/// Whether one of twice as many threads can have as many registers for each.
bool canHaveTwice(const Machine &machine, std::int32_t threads);

/// What keeps more blocks from a core; the first in this order where several do.
enum class OccupancyLimit : std::uint8_t { Warps, Blocks, Registers, SharedMemory };
std::string_view toText(OccupancyLimit limit);

struct Occupancy {
  std::int32_t blocksPerCore = 0; ///< 0: the kernel cannot run.
  std::int32_t warpsPerCore = 0;
  OccupancyLimit limit = OccupancyLimit::Warps;
};

/// How many blocks can be on one core at a time: the least that warps, blocks, registers and shared
/// memory allow. Registers are given to a warp as a whole, in its partition:
///
///   warps of a partition = registers of a partition / (lanes x registers, rounded up to granules)
///
/// The formula is that of cuda_occupancy.h in CUDA 13 (cudaOccMaxActiveBlocksPerMultiprocessor)
/// and, with AMD's numbers, that of LLVM's AMDGPUBaseInfo.cpp (getNumWavesPerEUWithNumVGPRs) and
/// AMDGPUSubtarget.cpp (getOccupancyWithWorkGroupSizes).
Occupancy occupancyOf(const Machine &machine, const BlockDemand &demand);

} // namespace imbrex::machine
