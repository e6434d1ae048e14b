#pragma once

#include <cstddef>
#include <cstdint>

/// What cuLaunchKernelEx takes, as cuda.h has it. Drivers have the function from CUDA 12 on, some
/// of CUDA 11 too.
namespace imbrex::driver::cuda_launch {

/// CUlaunchAttributeID
enum class AttributeId : std::int32_t {
  Ignore = 0,
  Cooperative = 2,
  Cluster = 4,
  Programmatic = 6
};

/// CUlaunchAttribute: its value is a union, of a number or of three.
struct alignas(8) Attribute {
  AttributeId id = AttributeId::Ignore;
  std::int32_t unused = 0;
  std::uint32_t value[16] = {};
};
static_assert(sizeof(Attribute) == 72);

/// CUlaunchConfig
struct Config {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  void *stream;
  const Attribute *attributes;
  unsigned attributeCount;
};

using Launch = int(const Config *config, void *kernel, void **parameters, void **extra);

/// More blocks of a cluster than this have to be allowed first: every GPU that has clusters has so
/// large ones (CUDA C++ Programming Guide 13, "Thread Block Clusters").
inline constexpr std::int32_t kPortableClusterBlocks = 8;
inline constexpr int kAllowLargerClusters =
    14; // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED

} // namespace imbrex::driver::cuda_launch
