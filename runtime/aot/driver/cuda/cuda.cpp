#include "runtime/aot/driver/cuda/launch_config.h"
#include "runtime/aot/driver/gpu.h"

#include <array>
#include <atomic>

namespace imbrex::driver {
namespace {

/// cuTensorMapEncodeTiled, which drivers have from CUDA 12.0 on.
using DescribeTensor = int(void *map, int element, std::uint32_t rank, void *address,
                           const std::uint64_t *extents, const std::uint64_t *strides,
                           const std::uint32_t *box, const std::uint32_t *steps, int interleave,
                           int swizzle, int promotion, int fill);

/// cuCtxGetId, from CUDA 12.0 on as well.
using ContextId = int(void *context, unsigned long long *id);

constexpr const char *kLaunchWith = "cuLaunchKernelEx";

struct CudaFunctions {
#define IMBREX_OWN(member, symbol, ...) int(*member) __VA_ARGS__ = nullptr;
#include "runtime/aot/driver/cuda/own.def"
  DescribeTensor *describeTensor = nullptr;  ///< Null where the driver is too old.
  ContextId *contextId = nullptr;            ///< The same.
  cuda_launch::Launch *launchWith = nullptr; ///< cuLaunchKernelEx; the same.

  bool findIn(DriverLibrary &library) {
#define IMBREX_OWN(member, symbol, ...)                                                            \
  if (!library.find(#symbol, member)) return false;
#include "runtime/aot/driver/cuda/own.def"
    if (!library.find("cuTensorMapEncodeTiled", describeTensor)) describeTensor = nullptr;
    if (!library.find("cuCtxGetId", contextId)) contextId = nullptr;
    if (!library.find(kLaunchWith, launchWith)) launchWith = nullptr;
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
int swizzleOf(std::int32_t bytes) {
  constexpr std::int32_t kFirst = 32, kSecond = 64;
  return bytes == 0 ? 0 : bytes == kFirst ? 1 : bytes == kSecond ? 2 : 3;
}

class CudaGpu final : public Gpu {
public:
  CudaGpu(const OpenDriver &opened, const CudaFunctions &own)
      : Gpu(opened, own.kindOf(opened.number)), own_(own) {}

  ~CudaGpu() override {
    if (primary_ == nullptr) return;
    clearPool();
    own_.releaseContext(number());
  }
  /// Before all else.
  int retainContext() {
    const int error = own_.primaryContext(&primary_, number());
    if (error != 0) primary_ = nullptr; // whatever it was set to
    return error;
  }

  bool knowsBoxes() const override { return own_.describeTensor != nullptr; }
  const char *lacksFor(const LaunchAttributes &attributes) const override {
    return attributes.areAny() && own_.launchWith == nullptr ? kLaunchWith : nullptr;
  }

  int start(const LaunchWords &words, void *stream) const override {
    void *current = nullptr;
    const bool isHere = own_.currentContext(&current) == 0 && current == primary_ &&
                        (!asksStreams_.load(std::memory_order_relaxed) || !isNamed(stream));
    return isHere ? startHere(words, stream) : startElsewhere(words, stream);
  }

protected:
  int enter(const Place &place, Entered &entered) const override {
    constexpr int kPushed = 0;
    void *current = nullptr;
    if (const int error = own_.currentContext(&current); error != 0) return error;
    void *const wanted = place.isPrimary ? primary_ : wantedAt(place, current);
    if (wanted != primary_) entered.context = wanted;
    if (wanted == current) return 0; // mostly, which spares two calls
    entered.before = kPushed;
    return own_.pushContext(wanted);
  }
  void leave(const Entered & /*entered*/) const override {
    void *popped = nullptr;
    own_.popContext(&popped);
  }
  bool isElsewhere(void *stream, const Entered &entered) const override {
    if (!isNamed(stream)) return false;
    void *const context = contextOf(stream);
    if (context == (entered.context != nullptr ? entered.context : primary_)) return false;
    asksStreams_.store(true, std::memory_order_relaxed);
    return true;
  }
  std::uint64_t idOf(void *context) const override {
    unsigned long long id = 0;
    return own_.contextId != nullptr && own_.contextId(context, &id) == 0 ? id : 0;
  }
  int allowShared(void *function, std::int32_t bytes) const override {
    // cuda.h: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES. Without it a block has 48 KB.
    constexpr int kMostDynamicBytes = 8;
    return own_.setKernelFact(function, kMostDynamicBytes, bytes);
  }
  int allowCluster(void *function, std::int32_t blocks) const override {
    if (blocks <= cuda_launch::kPortableClusterBlocks) return 0;
    return own_.setKernelFact(function, cuda_launch::kAllowLargerClusters, 1);
  }
  int launchAttributed(const AttributedLaunch &launch) const override {
    if (own_.launchWith == nullptr) return kNotSupported;
    std::array<cuda_launch::Attribute, 3> list{};
    unsigned count = 0;
    const LaunchAttributes &asked = launch.attributes;
    if (asked.clusterBlocks() > 1) {
      cuda_launch::Attribute &cluster = list[count++] = {.id = cuda_launch::AttributeId::Cluster};
      for (std::size_t axis = 0; axis < asked.cluster.size(); ++axis)
        cluster.value[axis] = static_cast<std::uint32_t>(asked.cluster[axis]);
    }
    if (asked.isCooperative)
      list[count++] = {.id = cuda_launch::AttributeId::Cooperative, .value = {1}};
    if (asked.isProgrammatic)
      list[count++] = {.id = cuda_launch::AttributeId::Programmatic, .value = {1}};
    const cuda_launch::Config config{.gridX = launch.grid[0],
                                     .gridY = launch.grid[1],
                                     .gridZ = launch.grid[2],
                                     .blockX = launch.threads,
                                     .blockY = 1,
                                     .blockZ = 1,
                                     .sharedBytes = launch.sharedBytes,
                                     .stream = launch.stream,
                                     .attributes = list.data(),
                                     .attributeCount = count};
    return own_.launchWith(&config, launch.function, launch.each, launch.extra);
  }
  int makeMap(const Boxes &boxes, BoxMapBytes &map) const override {
    constexpr std::size_t kMostAxes = 5; // cuda.h, of cuTensorMapEncodeTiled's tensorRank
    constexpr int kInvalidValue = 1;     // cuda.h: CUDA_ERROR_INVALID_VALUE
    // cuda.h: CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, and
    // CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, which fills with zeros
    constexpr int kPlain = 0, kLine = 2, kZeros = 0;
    const std::size_t rank = boxes.box.size();
    if (!knowsBoxes()) return Gpu::makeMap(boxes, map);
    if (rank > kMostAxes) return kInvalidValue;
    std::array<std::uint64_t, kMostAxes> extents{}, strides{};
    std::array<std::uint32_t, kMostAxes> box{}, steps{};
    for (std::size_t i = 0; i < rank; ++i) {
      const std::size_t axis = rank - 1 - i; // the innermost comes first
      extents[i] = static_cast<std::uint64_t>(boxes.extents[axis]);
      box[i] = static_cast<std::uint32_t>(boxes.box[axis]);
      steps[i] = 1;
      if (i > 0)
        strides[i - 1] = static_cast<std::uint64_t>(boxes.strides[axis] * boxes.elementBytes);
    }
    alignas(64) BoxMapBytes made{}; // cuda.h: CUtensorMap
    const int error = own_.describeTensor(made.data(), elementOf(boxes.elementBytes),
                                          static_cast<std::uint32_t>(rank), boxes.data,
                                          extents.data(), strides.data(), box.data(), steps.data(),
                                          kPlain, swizzleOf(boxes.swizzleBytes), kLine, kZeros);
    map = made;
    return error;
  }

private:
  /// Whether a stream is of one context, and not the default one of whichever is current.
  static bool isNamed(void *stream) {
    constexpr std::uintptr_t kLastDefault = 2; // cuda.h: CU_STREAM_LEGACY, CU_STREAM_PER_THREAD
    return reinterpret_cast<std::uintptr_t>(stream) > kLastDefault;
  }

  void *wantedAt(const Place &place, void *current) const {
    if (isNamed(place.stream)) {
      const bool asks = place.isUnseen || asksStreams_.load(std::memory_order_relaxed);
      return asks ? contextOf(place.stream) : primary_;
    }
    if (current == nullptr || current == primary_) return primary_;
    return isOfThisDevice() ? current : primary_;
  }

  /// Of a stream of another device, which the driver is to refuse, the primary one.
  void *contextOf(void *stream) const {
    void *context = nullptr, *popped = nullptr;
    if (own_.pushContext(primary_) != 0) return primary_; // to ask at all
    const int error = own_.streamContext(stream, &context);
    own_.popContext(&popped);
    if (error != 0 || context == primary_ || own_.pushContext(context) != 0) return primary_;
    const bool isHere = isOfThisDevice();
    own_.popContext(&popped);
    return isHere ? context : primary_;
  }

  /// Of the context that is current.
  bool isOfThisDevice() const {
    int device = -1;
    return own_.contextDevice(&device) == 0 && device == number();
  }

  CudaFunctions own_;
  void *primary_ = nullptr;
  mutable std::atomic<bool> asksStreams_ = false; // some are not of the primary context
};

/// CUDA numbers its devices from 0 on, so that a number is a CUdevice.
std::unique_ptr<Gpu> makeCuda(OpenDriver &opened, Problem &problem) {
  CudaFunctions own;
  if (!own.findIn(opened.library)) return problem = opened.library.lacksFunction(), nullptr;
  auto gpu = std::make_unique<CudaGpu>(opened, own);
  const int error = gpu->retainContext();
  if (error == 0) return gpu;
  problem = {
      .kind = Problem::Kind::Refused, .text = gpu->textOf(error), .device = gpu->description()};
  return nullptr;
}

constexpr std::array<const char *, 2> kCudaLibraries{"libcuda.so.1", "libcuda.so"};

constexpr DriverNames kCudaNames{
#define IMBREX_SYMBOL(member, symbol) .member = #symbol,
#include "runtime/aot/driver/cuda/symbols.def"
};

constexpr Vendor kCuda{
    .device = "cuda",
    .driver = "NVIDIA's driver",
    .variable = "IMBREX_CUDA_DRIVER",
    .libraries = kCudaLibraries,
    .names = kCudaNames,
    .endOfLaunch = 0,   // cuda.h: CU_LAUNCH_PARAM_END
    .logOption = 5,     // cuda.h: CU_JIT_ERROR_LOG_BUFFER
    .logSizeOption = 6, // cuda.h: CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
    .make = makeCuda,
};

} // namespace

const Vendor &cuda() { return kCuda; }

} // namespace imbrex::driver
