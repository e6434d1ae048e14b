// What a fake of CUDA's driver has besides (fake_driver.cpp).

#include "runtime/aot/driver/cuda/launch_config.h"
#include "tests/run/runtime/fake_machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace imbrex::fake;

extern "C" {

#if FAKE_KNOWS_BOXES
__attribute__((visibility("default"))) int
cuTensorMapEncodeTiled(void *map, int element, std::uint32_t rank, void *address,
                       const std::uint64_t *extents, const std::uint64_t *strides,
                       const std::uint32_t *box, const std::uint32_t *steps, int interleave,
                       int swizzle, int, int fill) {
  const Lock lock(inDriver);
  if (const int error = enter("describeTensor"); error != 0) return error;
  const bool isAligned = reinterpret_cast<std::uintptr_t>(map) % 64 == 0;
  if (!isAligned || rank < 1 || rank > 5 || interleave != 0) return kInvalidValue;
  SeenMap seen;
  seen.address = reinterpret_cast<std::uintptr_t>(address);
  seen.element = element;
  seen.rank = static_cast<std::int32_t>(rank);
  seen.swizzle = swizzle;
  seen.fill = fill;
  for (std::uint32_t axis = 0; axis < rank; ++axis) {
    if (steps[axis] != 1 || extents[axis] == 0 || extents[axis] > 0xffffffff) return kInvalidValue;
    seen.extents[axis] = static_cast<std::uint32_t>(extents[axis]);
    seen.box[axis] = box[axis];
    if (axis == 0) continue;
    if (strides[axis - 1] % 16 != 0) return kInvalidValue;
    seen.strides[axis - 1] = strides[axis - 1];
  }
  if (!isReachable(seen.address, 1) || seen.address % 16 != 0) return kInvalidValue;
  std::memset(map, 0, 128);
  std::memcpy(map, &seen, sizeof seen);
  return 0;
}
#endif
__attribute__((visibility("default"))) int cuDeviceGetAttribute(int *value, int which, int device) {
  const Lock lock(inDriver);
  constexpr int kMajor = 75, kMinor = 76; // cuda.h: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  const int capability = std::atoi(state().isaOf(device).c_str() + std::strlen("sm_"));
  *value = which == kMajor ? capability / 10 : which == kMinor ? capability % 10 : -1;
  return 0;
}
__attribute__((visibility("default"))) int cuDevicePrimaryCtxRetain(void **context, int device) {
  const Lock lock(inDriver);
  *context = &state().devices + device;
  return enter("primaryContext");
}
__attribute__((visibility("default"))) int cuDevicePrimaryCtxRelease_v2(int) {
  const Lock lock(inDriver);
  return enter("releaseContext");
}
__attribute__((visibility("default"))) int cuCtxGetCurrent(void **context) {
  const Lock lock(inDriver);
  *context =
      state().here().current > 0 ? &state().devices + state().here().contexts.back() : nullptr;
  return 0;
}
__attribute__((visibility("default"))) int cuCtxGetDevice(int *device) {
  const Lock lock(inDriver);
  if (state().here().contexts.empty()) return kNoContext;
  *device = state().deviceOf(state().contextHere());
  return enter("contextDevice");
}
__attribute__((visibility("default"))) int cuStreamGetCtx(void *stream, void **context) {
  const Lock lock(inDriver);
  if (!isStream(stream)) return kInvalidHandle;
  *context =
      &state().devices + (isDefault(stream) ? state().contextHere() : state().contextOf[stream]);
  return enter("streamContext");
}
#if FAKE_KNOWS_BOXES
__attribute__((visibility("default"))) int
cuLaunchKernelEx(const imbrex::driver::cuda_launch::Config *config, void *kernel, void **parameters,
                 void **extra) {
  using Id = imbrex::driver::cuda_launch::AttributeId;
  const Lock lock(inDriver);
  if (const int error = enter("launchWith"); error != 0 || state().isQuiet) return error;
  if (config->blockY != 1 || config->blockZ != 1) return kInvalidValue;
  SeenLaunch asked = askedFor({config->gridX, config->gridY, config->gridZ}, config->blockX,
                              config->sharedBytes, config->stream, parameters);
  asked.isPlain = false;
  for (unsigned i = 0; i < config->attributeCount; ++i) {
    const auto &[id, unused, value] = config->attributes[i];
    switch (id) {
    case Id::Ignore: break;
    case Id::Cooperative: asked.isCooperative = value[0] != 0; break;
    case Id::Programmatic: asked.isProgrammatic = value[0] != 0; break;
    case Id::Cluster: std::copy_n(value, 3, asked.cluster.begin()); break;
    }
  }
  return launch(*static_cast<Kernel *>(kernel), asked, extra);
}
__attribute__((visibility("default"))) int cuCtxGetId(void *context, unsigned long long *id) {
  const Lock lock(inDriver);
  const auto number = static_cast<int>(static_cast<int *>(context) - &state().devices);
  const auto other = state().otherContexts.find(number);
  *id = other != state().otherContexts.end() ? other->second.id : 0;
  return enter("contextId");
}
#endif
__attribute__((visibility("default"))) int cuCtxPushCurrent_v2(void *context) {
  const Lock lock(inDriver);
  if (context == nullptr) return kInvalidValue;
  ++state().here().current;
  state().here().contexts.push_back(
      static_cast<int>(static_cast<int *>(context) - &state().devices));
  return enter("pushContext");
}
__attribute__((visibility("default"))) int cuCtxPopCurrent_v2(void **context) {
  const Lock lock(inDriver);
  if (state().here().contexts.empty()) return kInvalidValue;
  *context = &state().devices + state().here().contexts.back();
  state().here().contexts.pop_back();
  --state().here().current;
  return 0;
}
__attribute__((visibility("default"))) int cuFuncSetAttribute(void *kernel, int which, int value) {
  const Lock lock(inDriver);
  constexpr int kMostDynamicBytes = 8; // cuda.h: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  constexpr int kLargerClusters = 14;  // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
  constexpr unsigned kMostClusterBlocks = 16;
  if (const int error = enter("setKernelFact"); error != 0) return error;
  auto &of = *static_cast<Kernel *>(kernel);
  if (which == kLargerClusters && value == 1) return of.mostClusterBlocks = kMostClusterBlocks, 0;
  if (which != kMostDynamicBytes || value < 0) return kInvalidValue;
  of.mostSharedBytes = static_cast<unsigned>(value);
  return 0;
}

} // extern "C"
