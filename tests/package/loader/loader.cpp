#include "tests/package/loader/loader.h"

#include "backend/package/bundle.h"
#include "backend/package/fatbin.h"

#include <array>
#include <cstring>
#include <dlfcn.h>

namespace loader {
namespace {

using imbrex::Failure;
using imbrex::Result;
using imbrex::package::Member;

Failure<std::string> because(std::string why) { return {std::move(why)}; }

template <class F>
F *symbol(void *library, const char *name) {
  return reinterpret_cast<F *>(dlsym(library, name));
}

// cuda.h: CUdevice_attribute.
constexpr int kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76;

Result<std::string, std::string> nameOfCudaDevice(void *driver) {
  auto *init = symbol<int(unsigned)>(driver, "cuInit");
  auto *attribute = symbol<int(int *, int, int)>(driver, "cuDeviceGetAttribute");
  if (init == nullptr || attribute == nullptr) return because("the driver lacks a function");
  int major = 0, minor = 0;
  if (init(0) != 0 || attribute(&major, kComputeCapabilityMajor, 0) != 0 ||
      attribute(&minor, kComputeCapabilityMinor, 0) != 0)
    return because("the driver has no device");
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

// hip_runtime_api.h: hipDeviceProp_tR0600, of which the name of the ISA alone matters here.
constexpr std::size_t kPropertiesSize = 1472, kIsaName = 1160, kIsaNameSize = 256;

Result<std::string, std::string> nameOfHipDevice(void *driver) {
  auto *properties = symbol<int(void *, int)>(driver, "hipGetDevicePropertiesR0600");
  if (properties == nullptr) return because("the driver lacks a function");
  alignas(8) std::array<char, kPropertiesSize> buffer{};
  if (properties(buffer.data(), 0) != 0) return because("the driver has no device");
  const char *name = buffer.data() + kIsaName;
  return std::string(name, strnlen(name, kIsaNameSize));
}

/// What differs between the two drivers.
struct Driver {
  const char *load; // the function that loads an image
  Result<std::string, std::string> (*deviceName)(void *library);
  imbrex::Result<std::vector<Member>> (*members)(llvm::StringRef package);
};
constexpr Driver kCuda{"cuModuleLoadData", nameOfCudaDevice, imbrex::package::readFatbin};
constexpr Driver kHip{"hipModuleLoadData", nameOfHipDevice, imbrex::package::readBundle};

} // namespace

Result<Loaded, std::string> loadPackage(const std::string &driver, llvm::StringRef package) {
  void *library = dlopen(driver.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return because("there is no driver: " + std::string(dlerror()));
  const Driver &ways = dlsym(library, "cuInit") != nullptr ? kCuda : kHip;
  const auto device = ways.deviceName(library);
  if (!device) return device.failure();
  const auto members = ways.members(package);
  if (!members) return because(members.error().message);
  const Member *member = imbrex::package::memberFor(*members, *device);
  if (member == nullptr)
    return because("no code for " + *device + " in a package of " +
                   imbrex::package::describe(*members));
  Loaded loaded{.device = *device, .member = *member};
  auto *load = symbol<int(void **, const void *)>(library, ways.load);
  if (load == nullptr || load(&loaded.module, member->content.c_str()) != 0)
    return because("the driver refuses the code of " + member->machine);
  return loaded;
}

} // namespace loader
