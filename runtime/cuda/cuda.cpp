#include "runtime/cuda/cuda.h"

#include <array>

namespace imbrex::cuda {
namespace {

constexpr std::array<const char *, 2> kLibraries{"libcuda.so.1", "libcuda.so"};

constexpr gpu::DriverNames kNames{
#define IMBREX_SYMBOL(member, symbol) .member = #symbol,
#include "runtime/cuda/symbols.def"
};

constexpr gpu::Vendor kVendor{
    .device = "cuda",
    .driver = "NVIDIA's driver",
    .family = machine::Family::Nvptx,
    .libraries = kLibraries,
    .names = kNames,
    .endOfLaunch = 0,   // cuda.h: CU_LAUNCH_PARAM_END
    .logOption = 5,     // cuda.h: CU_JIT_ERROR_LOG_BUFFER
    .logSizeOption = 6, // cuda.h: CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
};

struct OwnFunctions {
#define IMBREX_OWN(member, symbol, ...) int(*member) __VA_ARGS__ = nullptr;
#include "runtime/cuda/own.def"
};

class CudaGpu final : public gpu::Gpu {
public:
  CudaGpu(gpu::GpuFacts facts, const OwnFunctions &own, void *context)
      : Gpu(std::move(facts)), own_(own), context_(context) {}

protected:
  int enter(int & /*before*/) const override { return own_.pushContext(context_); }
  void leave(int /*before*/) const override {
    void *popped = nullptr;
    own_.popContext(&popped);
  }
  int allowShared(void *function, std::int32_t bytes) const override {
    // cuda.h: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES. Without it a block has 48 KB.
    constexpr int kMostDynamicBytes = 8;
    return own_.setKernelFact(function, kMostDynamicBytes, bytes);
  }

private:
  OwnFunctions own_;
  void *context_; // is kept until the process ends
};

Result<OwnFunctions> findOwn(gpu::Library &library, const gpu::Ordinal &device) {
  OwnFunctions own;
#define IMBREX_OWN(member, symbol, ...)                                                            \
  if (!library.find(#symbol, own.member)) return library.lacksFunction(device);
#include "runtime/cuda/own.def"
  return own;
}

/// "sm_90", of the compute capability 9.0.
std::string nameOfCapability(const OwnFunctions &own, std::int32_t number) {
  // cuda.h: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
  constexpr int kMajor = 75, kMinor = 76;
  int major = 0, minor = 0;
  own.attribute(&major, kMajor, number);
  own.attribute(&minor, kMinor, number);
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

} // namespace

const gpu::Vendor &vendor() { return kVendor; }

Result<std::unique_ptr<gpu::Gpu>> openGpu(llvm::ArrayRef<std::string> paths, std::int32_t number) {
  const gpu::Ordinal device{.vendor = &kVendor, .number = number};
  auto driver = gpu::openDriver(paths, device);
  if (!driver) return driver.failure();
  const auto own = findOwn(driver->library, device);
  if (!own) return own.failure();
  // CUDA numbers its devices from 0 on, so that a number is a CUdevice.
  auto facts = gpu::factsOf(driver->functions, device, nameOfCapability(*own, number));
  if (!facts) return facts.failure();
  void *context = nullptr;
  if (const int error = own->primaryContext(&context, number); error != 0)
    return fail(Diag::GpuRefused, {}, facts->description, "be used",
                gpu::describeError(driver->functions, error));
  return std::unique_ptr<gpu::Gpu>(std::make_unique<CudaGpu>(std::move(*facts), *own, context));
}

} // namespace imbrex::cuda
