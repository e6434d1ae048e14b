#include "runtime/hip/hip.h"

#include <array>
#include <cstring>

namespace imbrex::hip {
namespace {

// Without a number where the packages for developers are, with one elsewhere.
constexpr std::array<const char *, 4> kLibraries{
    "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "/opt/rocm/lib/libamdhip64.so"};

constexpr gpu::DriverNames kNames{
#define IMBREX_SYMBOL(member, symbol) .member = #symbol,
#include "runtime/hip/symbols.def"
};

constexpr gpu::Vendor kVendor{
    .device = "hip",
    .driver = "AMD's HIP",
    .family = machine::Family::Amdgpu,
    .libraries = kLibraries,
    .path = &Environment::hipDriver,
    .names = kNames,
    .endOfLaunch = 3, // hip_runtime_api.h: HIP_LAUNCH_PARAM_END
    .logOption = 0,
    .logSizeOption = 0,
};

struct HipFunctions {
#define IMBREX_OWN(member, symbol, ...) int(*member) __VA_ARGS__ = nullptr;
#include "runtime/hip/own.def"

  bool findIn(gpu::Library &library) {
#define IMBREX_OWN(member, symbol, ...)                                                            \
  if (!library.find(#symbol, member)) return false;
#include "runtime/hip/own.def"
    return true;
  }

  /// "gfx942:sramecc+:xnack-"
  std::string kindOf(std::int32_t number) const {
    // hip_runtime_api.h of ROCm 6 and 7: hipDeviceProp_tR0600 has 1472 bytes, and gcnArchName in
    // these. There is room for a later one's.
    constexpr std::size_t kRoom = 4096, kName = 1160, kNameBytes = 256;
    alignas(16) std::array<char, kRoom> filled{};
    if (properties(filled.data(), number) != 0) return "of unknown make";
    const char *name = filled.data() + kName;
    return {name, strnlen(name, kNameBytes)};
  }
};

class HipGpu final : public gpu::Gpu {
public:
  HipGpu(gpu::GpuFacts facts, const HipFunctions &own, std::int32_t number)
      : Gpu(std::move(facts)), own_(own), number_(number) {}

protected:
  int enter(int &before) const override {
    if (const int error = own_.currentDevice(&before); error != 0) return error;
    return own_.useDevice(number_);
  }
  void leave(int before) const override { own_.useDevice(before); }
  int allowShared(void * /*function*/, std::int32_t /*bytes*/) const override {
    return 0; // a block has all of the LDS without asking
  }

private:
  HipFunctions own_;
  std::int32_t number_;
};

} // namespace

const gpu::Vendor &vendor() { return kVendor; }

Result<std::unique_ptr<gpu::Gpu>> openGpu(llvm::ArrayRef<std::string> paths, std::int32_t number) {
  auto opened = gpu::openWith<HipFunctions>(paths, {.vendor = &kVendor, .number = number});
  if (!opened) return opened.failure();
  auto &[facts, own] = *opened;
  return std::unique_ptr<gpu::Gpu>(std::make_unique<HipGpu>(std::move(facts), own, number));
}

} // namespace imbrex::hip
