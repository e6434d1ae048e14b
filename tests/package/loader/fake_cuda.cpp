// A driver with one device, whose name is in FAKE_DEVICE; with none where that is not set. It takes
// ELF files and PTX. A module is the address of what was loaded.

#include <cstdlib>
#include <cstring>

namespace {

int capability() {
  const char *name = std::getenv("FAKE_DEVICE");
  return name == nullptr ? 0 : std::atoi(name + 3);
}

constexpr int kNoDevice = 100, kInvalidImage = 200, kMajor = 75;

} // namespace

extern "C" {
__attribute__((visibility("default"))) int cuInit(unsigned) {
  return capability() == 0 ? kNoDevice : 0;
}
__attribute__((visibility("default"))) int cuDeviceGetAttribute(int *value, int attribute, int) {
  *value = attribute == kMajor ? capability() / 10 : capability() % 10;
  return 0;
}
__attribute__((visibility("default"))) int cuModuleLoadData(void **module, const void *image) {
  const char *text = static_cast<const char *>(image);
  const bool isElf = std::memcmp(text, "\177ELF", 4) == 0;
  *module = const_cast<void *>(image);
  return isElf || std::strstr(text, ".version") != nullptr ? 0 : kInvalidImage;
}
}
