// What we say of CUDA's driver against what cuda.h says, where there is one.

#include "backend/lower/kernel_interface.h"
#include "runtime/aot/driver/cuda/launch_config.h"
#include "runtime/aot/driver/gpu.h"
#include "tests/run/runtime/called_alike.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cuda.h>
#include <string>
#include <type_traits>

namespace imbrex {
namespace {

using testing::areCalledAlike;

// cuda.h redefines the names of functions that have a newer form: cuMemAlloc is cuMemAlloc_v2.
#define IMBREX_QUOTED(text) #text
#define IMBREX_NAME_IN_HEADER(symbol) IMBREX_QUOTED(symbol)

struct Own {
#define IMBREX_OWN(member, symbol, ...) int(*member) __VA_ARGS__ = nullptr;
#include "runtime/aot/driver/cuda/own.def"
};

} // namespace

TEST_CASE("the functions of CUDA's driver are called as cuda.h declares them") {
#define IMBREX_SYMBOL(member, symbol)                                                              \
  static_assert(areCalledAlike(decltype(driver::Driver::member){}, decltype(&::symbol){}), #symbol);
#include "runtime/aot/driver/cuda/symbols.def"
#define IMBREX_OWN(member, symbol, ...)                                                            \
  static_assert(areCalledAlike(decltype(Own::member){}, decltype(&::symbol){}), #symbol);
#include "runtime/aot/driver/cuda/own.def"
  using DescribeTensor =
      int (*)(void *, int, std::uint32_t, void *, const std::uint64_t *, const std::uint64_t *,
              const std::uint32_t *, const std::uint32_t *, int, int, int, int);
  static_assert(areCalledAlike(DescribeTensor{}, decltype(&::cuTensorMapEncodeTiled){}));
  using ContextId = int (*)(void *, unsigned long long *);
  static_assert(areCalledAlike(ContextId{}, decltype(&::cuCtxGetId){}));
  static_assert(CUDA_ERROR_INVALID_CONTEXT == 201 && CUDA_ERROR_INVALID_HANDLE == 400);
  static_assert(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED == 900);
  static_assert(CUDA_ERROR_OUT_OF_MEMORY == driver::kOutOfMemory);
  static_assert(sizeof(CUtensorMap) == lower::BoxMap::kBytes &&
                alignof(CUtensorMap) % lower::BoxMap::kAlignment == 0);
  static_assert(CU_TENSOR_MAP_DATA_TYPE_UINT8 == 0 && CU_TENSOR_MAP_DATA_TYPE_UINT16 == 1 &&
                CU_TENSOR_MAP_DATA_TYPE_UINT32 == 2 && CU_TENSOR_MAP_DATA_TYPE_UINT64 == 4);
  static_assert(CU_TENSOR_MAP_SWIZZLE_NONE == 0 && CU_TENSOR_MAP_SWIZZLE_32B == 1 &&
                CU_TENSOR_MAP_SWIZZLE_64B == 2 && CU_TENSOR_MAP_SWIZZLE_128B == 3);
  static_assert(CU_TENSOR_MAP_INTERLEAVE_NONE == 0 && CU_TENSOR_MAP_L2_PROMOTION_L2_128B == 2 &&
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE == 0);
  static_assert(sizeof(CUdevice) == sizeof(int) && sizeof(CUresult) == sizeof(int));
  static_assert(CUDA_SUCCESS == 0);
  static_assert(CU_JIT_ERROR_LOG_BUFFER == 5 && CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES == 6);
  static_assert(CU_POINTER_ATTRIBUTE_MEMORY_TYPE == 2 && CU_MEMORYTYPE_DEVICE == 2);
  static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == 75);
  static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == 76);
  static_assert(CU_LAUNCH_PARAM_END_AS_INT == 0 && CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT == 1 &&
                CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT == 2);
  static_assert(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES == 8);
  CHECK(driver::cuda().endOfLaunch == CU_LAUNCH_PARAM_END_AS_INT);
  CHECK(driver::cuda().logOption == CU_JIT_ERROR_LOG_BUFFER);
}

TEST_CASE("a launch with attributes is told as cuda.h declares it") {
  namespace own = driver::cuda_launch;
  using Config = own::Config;
  using Attribute = own::Attribute;
  static_assert(
      areCalledAlike(static_cast<own::Launch *>(nullptr), decltype(&::cuLaunchKernelEx){}));
  static_assert(sizeof(Config) == sizeof(CUlaunchConfig) &&
                offsetof(Config, gridX) == offsetof(CUlaunchConfig, gridDimX) &&
                offsetof(Config, gridZ) == offsetof(CUlaunchConfig, gridDimZ) &&
                offsetof(Config, blockX) == offsetof(CUlaunchConfig, blockDimX) &&
                offsetof(Config, sharedBytes) == offsetof(CUlaunchConfig, sharedMemBytes) &&
                offsetof(Config, stream) == offsetof(CUlaunchConfig, hStream) &&
                offsetof(Config, attributes) == offsetof(CUlaunchConfig, attrs) &&
                offsetof(Config, attributeCount) == offsetof(CUlaunchConfig, numAttrs));
  static_assert(sizeof(Attribute) == sizeof(CUlaunchAttribute) &&
                alignof(Attribute) == alignof(CUlaunchAttribute) &&
                offsetof(Attribute, id) == offsetof(CUlaunchAttribute, id) &&
                offsetof(Attribute, value) == offsetof(CUlaunchAttribute, value));
  static_assert(offsetof(CUlaunchAttributeValue, cooperative) == 0 &&
                offsetof(CUlaunchAttributeValue, clusterDim.x) == 0 &&
                offsetof(CUlaunchAttributeValue, clusterDim.y) == 4 &&
                offsetof(CUlaunchAttributeValue, clusterDim.z) == 8 &&
                offsetof(CUlaunchAttributeValue, programmaticStreamSerializationAllowed) == 0);
  using Id = own::AttributeId;
  static_assert(static_cast<int>(Id::Ignore) == CU_LAUNCH_ATTRIBUTE_IGNORE &&
                static_cast<int>(Id::Cooperative) == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
                static_cast<int>(Id::Cluster) == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
                static_cast<int>(Id::Programmatic) ==
                    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  static_assert(own::kAllowLargerClusters == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  static_assert(CUDA_ERROR_NOT_SUPPORTED == driver::kNotSupported);
}

TEST_CASE("the functions of CUDA's driver have the names that cuda.h gives their present forms") {
#define IMBREX_SYMBOL(member, symbol)                                                              \
  if (std::string(#member) != "timeBetween")                                                       \
    CHECK(std::string(#symbol) == IMBREX_NAME_IN_HEADER(symbol));
#include "runtime/aot/driver/cuda/symbols.def"
#define IMBREX_OWN(member, symbol, ...)                                                            \
  CHECK(std::string(#symbol) == IMBREX_NAME_IN_HEADER(symbol));
#include "runtime/aot/driver/cuda/own.def"
}

} // namespace imbrex
