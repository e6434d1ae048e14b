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
    .path = &Environment::cudaDriver,
    .names = kNames,
    .endOfLaunch = 0,   // cuda.h: CU_LAUNCH_PARAM_END
    .logOption = 5,     // cuda.h: CU_JIT_ERROR_LOG_BUFFER
    .logSizeOption = 6, // cuda.h: CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
};

/// cuTensorMapEncodeTiled, which drivers have from CUDA 12.0 on.
using DescribeTensor = int(void *map, int element, std::uint32_t rank, void *address,
                           const std::uint64_t *extents, const std::uint64_t *strides,
                           const std::uint32_t *box, const std::uint32_t *steps, int interleave,
                           int swizzle, int promotion, int fill);

struct CudaFunctions {
#define IMBREX_OWN(member, symbol, ...) int(*member) __VA_ARGS__ = nullptr;
#include "runtime/cuda/own.def"
  DescribeTensor *describeTensor = nullptr; ///< Null where the driver is too old.

  bool findIn(gpu::Library &library) {
#define IMBREX_OWN(member, symbol, ...)                                                            \
  if (!library.find(#symbol, member)) return false;
#include "runtime/cuda/own.def"
    if (!library.find("cuTensorMapEncodeTiled", describeTensor)) describeTensor = nullptr;
    return true;
  }

  /// "sm_90", of the compute capability 9.0.
  std::string kindOf(std::int32_t number) const {
    // cuda.h: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
    constexpr int kMajor = 75, kMinor = 76;
    int major = 0, minor = 0;
    attribute(&major, kMajor, number);
    attribute(&minor, kMinor, number);
    return "sm_" + std::to_string(major) + std::to_string(minor);
  }
};

/// cuda.h: CUtensorMapDataType, of unsigned integers, for an engine only moves them.
int elementOf(std::int32_t bytes) {
  constexpr int kByte = 0, kHalf = 1, kWord = 2, kDouble = 4;
  return bytes == 1 ? kByte : bytes == 2 ? kHalf : bytes == 4 ? kWord : kDouble;
}

/// cuda.h: CUtensorMapSwizzle, none, of 32, 64 or 128 bytes.
int swizzleOf(std::int32_t span) {
  constexpr std::int32_t kFirst = 32, kSecond = 64;
  return span == 0 ? 0 : span == kFirst ? 1 : span == kSecond ? 2 : 3;
}

class CudaGpu final : public gpu::Gpu {
public:
  CudaGpu(gpu::GpuFacts facts, const CudaFunctions &own, void *context)
      : Gpu(std::move(facts)), own_(own), context_(context) {}

  bool knowsBoxes() const override { return own_.describeTensor != nullptr; }

protected:
  /// `before`: whether it was so before, which is mostly so, and spares two calls.
  int enter(int &before) const override {
    void *current = nullptr;
    if (const int error = own_.currentContext(&current); error != 0) return error;
    before = current == context_ ? 1 : 0;
    return before == 1 ? 0 : own_.pushContext(context_);
  }
  void leave(int before) const override {
    void *popped = nullptr;
    if (before == 0) own_.popContext(&popped);
  }
  int allowShared(void *function, std::int32_t bytes) const override {
    // cuda.h: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES. Without it a block has 48 KB.
    constexpr int kMostDynamicBytes = 8;
    return own_.setKernelFact(function, kMostDynamicBytes, bytes);
  }
  int makeMap(const lower::BoxMap &boxes, const ir::Argument &view,
              gpu::BoxMapBytes &map) const override {
    // cuda.h: CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, and
    // CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, which fills with zeros
    constexpr int kPlain = 0, kLine = 2, kZeros = 0;
    const std::size_t rank = boxes.box.size();
    std::array<std::uint64_t, ir::Shape::kMaxRank> extents{}, strides{};
    std::array<std::uint32_t, ir::Shape::kMaxRank> box{}, steps{};
    for (std::size_t i = 0; i < rank; ++i) {
      const std::size_t axis = rank - 1 - i; // the innermost comes first
      extents[i] = static_cast<std::uint64_t>(view.extents[axis]);
      box[i] = static_cast<std::uint32_t>(boxes.box[axis]);
      steps[i] = 1;
      if (i > 0)
        strides[i - 1] = static_cast<std::uint64_t>(view.strides[axis] * boxes.elementBytes);
    }
    alignas(lower::BoxMap::kAlignment) gpu::BoxMapBytes made{};
    const int error = own_.describeTensor(made.data(), elementOf(boxes.elementBytes),
                                          static_cast<std::uint32_t>(rank), view.data,
                                          extents.data(), strides.data(), box.data(), steps.data(),
                                          kPlain, swizzleOf(boxes.span), kLine, kZeros);
    map = made;
    return error;
  }

private:
  CudaFunctions own_;
  void *context_; // is kept until the process ends
};

} // namespace

const gpu::Vendor &vendor() { return kVendor; }

Result<std::unique_ptr<gpu::Gpu>> openGpu(llvm::ArrayRef<std::string> paths, std::int32_t number) {
  // CUDA numbers its devices from 0 on, so that a number is a CUdevice.
  auto opened = gpu::openWith<CudaFunctions>(paths, {.vendor = &kVendor, .number = number});
  if (!opened) return opened.failure();
  auto &[facts, own] = *opened;
  void *context = nullptr;
  if (const int error = own.primaryContext(&context, number); error != 0)
    return fail(Diag::GpuRefused, {}, facts.description, "be used",
                gpu::describeError(facts.driver, error));
  return std::unique_ptr<gpu::Gpu>(std::make_unique<CudaGpu>(std::move(facts), own, context));
}

} // namespace imbrex::cuda
