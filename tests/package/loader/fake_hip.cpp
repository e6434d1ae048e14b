// HIP with one device, whose name is in FAKE_DEVICE; with none where that is not set. A module is
// the address of what was loaded.

#include <cstdlib>
#include <cstring>

namespace {

constexpr int kNoDevice = 100, kInvalidImage = 200, kIsaName = 1160;

} // namespace

extern "C" {
__attribute__((visibility("default"))) int hipGetDevicePropertiesR0600(void *properties, int) {
  const char *name = std::getenv("FAKE_DEVICE");
  if (name == nullptr) return kNoDevice;
  std::strcpy(static_cast<char *>(properties) + kIsaName, name);
  return 0;
}
__attribute__((visibility("default"))) int hipModuleLoadData(void **module, const void *image) {
  *module = const_cast<void *>(image);
  return std::memcmp(image, "\177ELF", 4) == 0 ? 0 : kInvalidImage;
}
}
