#include "backend/machine/occupancy.h"

#include <doctest/doctest.h>

#include <cuda_occupancy.h>
#include <string>

using namespace imbrex::machine;

namespace {

/// "sm_103a": 103, that is 10.3.
int capability(const Machine &machine) { return std::stoi(std::string(machine.name.substr(3))); }

cudaOccDeviceProp propertiesOf(const Machine &machine) {
  cudaOccDeviceProp properties;
  properties.computeMajor = capability(machine) / 10;
  properties.computeMinor = capability(machine) % 10;
  properties.maxThreadsPerBlock = machine.maxThreads;
  properties.maxThreadsPerMultiprocessor = machine.maxWarpsPerCore * machine.warpSize;
  properties.regsPerBlock = machine.registersPerCore;
  properties.regsPerMultiprocessor = machine.registersPerCore;
  properties.warpSize = machine.warpSize;
  properties.sharedMemPerBlock = static_cast<std::size_t>(machine.staticSharedMemoryBytes);
  properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(machine.sharedMemoryPerCore);
  properties.numSms = 1;
  properties.sharedMemPerBlockOptin = static_cast<std::size_t>(machine.sharedMemoryBytes);
  properties.reservedSharedMemPerBlock =
      static_cast<std::size_t>(machine.reservedSharedMemoryBytes);
  return properties;
}

int blocksByOracle(const Machine &machine, const BlockDemand &demand) {
  const cudaOccDeviceProp properties = propertiesOf(machine);
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = machine.maxThreads;
  attributes.numRegs = demand.registersPerThread;
  attributes.maxDynamicSharedSizeBytes = static_cast<std::size_t>(machine.sharedMemoryBytes);
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  const cudaOccDeviceState state;
  cudaOccResult result{};
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &properties, &attributes, &state, demand.threads,
      static_cast<std::size_t>(demand.sharedMemoryBytes));
  REQUIRE(error == CUDA_OCC_SUCCESS);
  return result.activeBlocksPerMultiprocessor;
}

} // namespace

TEST_CASE("the occupancy of every NVIDIA machine is the vendor's calculator's") {
  for (const Machine &machine : allMachines()) {
    if (machine.family != Family::Nvptx) continue;
    CAPTURE(std::string(machine.name));
    for (const int threads :
         {1, 32, 33, 64, 96, 128, 160, 256, 288, 384, 416, 512, 640, 768, 1000, 1024})
      for (int registers = 1; registers <= 255; registers += threads % 3 + 1)
        for (const int shared : {0, 1, 127, 1024, 8192, 15000, 31744, 40000, 49152, 65536, 101376})
          if (shared <= machine.sharedMemoryBytes) {
            CAPTURE(threads);
            CAPTURE(registers);
            CAPTURE(shared);
            const BlockDemand demand{
                .threads = threads, .registersPerThread = registers, .sharedMemoryBytes = shared};
            REQUIRE(occupancyOf(machine, demand).blocksPerCore == blocksByOracle(machine, demand));
          }
  }
}
