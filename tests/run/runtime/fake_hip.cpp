// What a fake of HIP has besides (fake_driver.cpp).

#include "tests/run/runtime/fake_machine.h"

#include <cstring>

using namespace imbrex::fake;

extern "C" {

#if FAKE_KNOWS_BOXES
__attribute__((visibility("default"))) int
hipModuleLaunchCooperativeKernel(void *kernel, unsigned gridX, unsigned gridY, unsigned gridZ,
                                 unsigned blockX, unsigned blockY, unsigned blockZ,
                                 unsigned sharedBytes, void *stream, void **parameters) {
  const Lock lock(inDriver);
  if (const int error = enter("launchCooperative"); error != 0 || state().isQuiet) return error;
  if (blockY != 1 || blockZ != 1 || parameters == nullptr) return kInvalidValue;
  SeenLaunch asked = askedFor({gridX, gridY, gridZ}, blockX, sharedBytes, stream, parameters);
  asked.isCooperative = true;
  asked.isPlain = false;
  return launch(*static_cast<Kernel *>(kernel), asked, nullptr);
}
#endif
__attribute__((visibility("default"))) int hipGetDevicePropertiesR0600(void *properties,
                                                                       int device) {
  const Lock lock(inDriver);
  constexpr std::size_t kName = 1160; // hip_runtime_api.h: hipDeviceProp_tR0600, gcnArchName
  std::strcpy(static_cast<char *>(properties) + kName, state().isaOf(device).c_str());
  return enter("properties");
}
__attribute__((visibility("default"))) int hipGetDevice(int *device) {
  const Lock lock(inDriver);
  *device = state().here().current;
  return 0;
}
__attribute__((visibility("default"))) int hipSetDevice(int device) {
  const Lock lock(inDriver);
  if (device >= state().devices) return kInvalidValue;
  state().here().current = device;
  return enter("useDevice");
}

} // extern "C"
