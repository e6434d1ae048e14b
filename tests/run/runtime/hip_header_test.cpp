// What we say of HIP against what its header of ROCm 6 or later says, where there is one.

#include "runtime/aot/driver/gpu.h"
#include "runtime/aot/driver/hip/launch_cooperative.h"
#include "tests/run/runtime/called_alike.h"

#include <doctest/doctest.h>

// NOLINTBEGIN(bugprone-reserved-identifier): HIP's; the second one is for no overloads
#define __HIP_PLATFORM_AMD__
#define __HIP_DISABLE_CPP_FUNCTIONS__
// NOLINTEND(bugprone-reserved-identifier)
#include <cstddef>
#include <hip/hip_runtime_api.h>
#include <type_traits>

namespace imbrex {
namespace {

using testing::areCalledAlike;

struct Own {
#define IMBREX_OWN(member, symbol, ...) int(*member) __VA_ARGS__ = nullptr;
#include "runtime/aot/driver/hip/own.def"
};

} // namespace

TEST_CASE("the functions of HIP are called as its header declares them") {
  // This one has overloads all the same.
  [[maybe_unused]] hipError_t (*const hipMallocAsync)(void **, std::size_t, hipStream_t) =
      ::hipMallocAsync;
#define IMBREX_SYMBOL(member, symbol)                                                              \
  static_assert(areCalledAlike(decltype(driver::Driver::member){}, decltype(+symbol){}), #symbol);
#include "runtime/aot/driver/hip/symbols.def"
#define IMBREX_OWN(member, symbol, ...)                                                            \
  static_assert(areCalledAlike(decltype(Own::member){}, decltype(+symbol){}), #symbol);
#include "runtime/aot/driver/hip/own.def"
  static_assert(sizeof(hipDeviceProp_tR0600) == 1472 &&
                offsetof(hipDeviceProp_tR0600, gcnArchName) == 1160 &&
                sizeof(hipDeviceProp_tR0600::gcnArchName) == 256);
  static_assert(HIP_POINTER_ATTRIBUTE_MEMORY_TYPE == 2 &&
                HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL == 9 && hipMemoryTypeDevice == 2);
  static_assert(hipErrorOutOfMemory == driver::kOutOfMemory);
  static_assert(hipSuccess == 0 && hipErrorNotSupported == driver::kNotSupported);
  static_assert(areCalledAlike(static_cast<driver::HipLaunchCooperative *>(nullptr),
                               decltype(+hipModuleLaunchCooperativeKernel){}));
  static_assert(hipStreamDefault == 0 && hipStreamCaptureStatusNone == 0);
  CHECK(reinterpret_cast<void *>(driver::hip().endOfLaunch) == HIP_LAUNCH_PARAM_END);
  CHECK(reinterpret_cast<void *>(1) == HIP_LAUNCH_PARAM_BUFFER_POINTER);
  CHECK(reinterpret_cast<void *>(2) == HIP_LAUNCH_PARAM_BUFFER_SIZE);
}

} // namespace imbrex
