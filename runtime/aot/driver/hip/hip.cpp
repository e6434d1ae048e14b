#include "runtime/aot/driver/gpu.h"
#include "runtime/aot/driver/hip/launch_cooperative.h"

#include <array>
#include <cstring>

namespace imbrex::driver {
namespace {

constexpr const char *kLaunchCooperative = "hipModuleLaunchCooperativeKernel";

struct HipFunctions {
#define IMBREX_OWN(member, symbol, ...) int(*member) __VA_ARGS__ = nullptr;
#include "runtime/aot/driver/hip/own.def"
  HipLaunchCooperative *launchCooperative = nullptr; ///< Null where the driver is too old.

  bool findIn(DriverLibrary &library) {
#define IMBREX_OWN(member, symbol, ...)                                                            \
  if (!library.find(#symbol, member)) return false;
#include "runtime/aot/driver/hip/own.def"
    if (!library.find(kLaunchCooperative, launchCooperative)) launchCooperative = nullptr;
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

class HipGpu final : public Gpu {
public:
  HipGpu(const OpenDriver &opened, const HipFunctions &own)
      : Gpu(opened, own.kindOf(opened.number)), own_(own) {}
  ~HipGpu() override { clearPool(); }

  const char *lacksFor(const LaunchAttributes &attributes) const override {
    return attributes.isCooperative && own_.launchCooperative == nullptr ? kLaunchCooperative
                                                                         : nullptr;
  }

  int start(const LaunchWords &words, void *stream) const override {
    int current = 0;
    const bool isHere = own_.currentDevice(&current) == 0 && current == number();
    return isHere ? startHere(words, stream) : startElsewhere(words, stream);
  }

protected:
  int enter(const Place & /*place*/, Entered &entered) const override {
    int current = 0;
    if (const int error = own_.currentDevice(&current); error != 0) return error;
    if (current == number()) return 0;
    entered.before = current;
    return own_.useDevice(number());
  }
  void leave(const Entered &entered) const override { own_.useDevice(entered.before); }
  int allowShared(void * /*function*/, std::int32_t /*bytes*/) const override {
    return 0; // a block has all of the LDS without asking
  }
  /// HIP has no clusters and no programmatic launches (hip_runtime_api.h of ROCm 7.1,
  /// hipLaunchAttributeID).
  int launchAttributed(const AttributedLaunch &launch) const override {
    const LaunchAttributes &asked = launch.attributes;
    if (own_.launchCooperative == nullptr || asked.clusterBlocks() > 1 || asked.isProgrammatic)
      return kNotSupported;
    return own_.launchCooperative(launch.function, launch.grid[0], launch.grid[1], launch.grid[2],
                                  launch.threads, 1, 1, launch.sharedBytes, launch.stream,
                                  launch.each);
  }

private:
  HipFunctions own_;
};

std::unique_ptr<Gpu> makeHip(OpenDriver &opened, Problem &problem) {
  HipFunctions own;
  if (!own.findIn(opened.library)) return problem = opened.library.lacksFunction(), nullptr;
  return std::make_unique<HipGpu>(opened, own);
}

// Without a number where the packages for developers are, with one elsewhere.
constexpr std::array<const char *, 4> kHipLibraries{
    "libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "/opt/rocm/lib/libamdhip64.so"};

constexpr DriverNames kHipNames{
#define IMBREX_SYMBOL(member, symbol) .member = #symbol,
#include "runtime/aot/driver/hip/symbols.def"
};

constexpr Vendor kHip{
    .device = "hip",
    .driver = "AMD's HIP",
    .variable = "IMBREX_HIP_DRIVER",
    .libraries = kHipLibraries,
    .names = kHipNames,
    .endOfLaunch = 3, // hip_runtime_api.h: HIP_LAUNCH_PARAM_END
    .logOption = 0,
    .logSizeOption = 0,
    .make = makeHip,
};

} // namespace

const Vendor &hip() { return kHip; }

} // namespace imbrex::driver
