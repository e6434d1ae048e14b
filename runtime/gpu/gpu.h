#pragma once

#include "backend/ir/argument.h"
#include "backend/lower/kernel_interface.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "runtime/gpu/suitable_code.h"

#include <array>
#include <optional>

namespace imbrex::gpu {

class Gpu;

/// A kernel that a GPU has loaded; unloaded with this.
class LoadedKernel {
public:
  LoadedKernel(const Gpu &gpu, void *module, void *function)
      : gpu_(gpu), module_(module), function_(function) {}
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel &) = delete;
  LoadedKernel &operator=(const LoadedKernel &) = delete;
  void *function() const { return function_; }

private:
  const Gpu &gpu_;
  void *module_;
  void *function_;
};

/// Memory of a GPU; given back with this. Its address is a multiple of kAlignment.
class DeviceMemory {
public:
  /// What drivers promise of every allocation (CUDA C++ Programming Guide 13, "Device Memory
  /// Accesses"; HIP gives whole pages).
  static constexpr std::uint64_t kAlignment = 256;

  DeviceMemory(const Gpu &gpu, std::uint64_t address) : gpu_(&gpu), address_(address) {}
  DeviceMemory(DeviceMemory &&other) noexcept
      : gpu_(other.gpu_), address_(std::exchange(other.address_, 0)) {}
  DeviceMemory &operator=(DeviceMemory &&) = delete;
  ~DeviceMemory();
  std::uint64_t address() const { return address_; }

private:
  const Gpu *gpu_;
  std::uint64_t address_; // 0: none
};

/// A view as the engine that loads boxes of it must know it.
using BoxMapBytes = std::array<std::byte, lower::BoxMap::kBytes>;

struct Launch {
  std::string_view kernel; ///< For people.
  ir::Grid grid;
  std::int32_t threads;                ///< Of a block.
  std::int32_t sharedBytes = 0;        ///< Of a block, besides what the code has of itself.
  llvm::ArrayRef<std::byte> arguments; ///< As packed_arguments.h packs them.
  llvm::ArrayRef<void *> each = {}; ///< Where each is; empty: as they lie, so the kernel has them.
  void *stream = nullptr;           ///< Null: the device's default one.
};

/// Whose memory an address is in.
struct MemoryOwner {
  bool isDevice = false;    ///< A GPU's own; else the host's, or unknown to the driver.
  std::int32_t number = -1; ///< Of that GPU, the driver's.
};

struct GpuFacts {
  const Vendor *vendor;
  Driver driver;
  SuitableCode code;
  std::int32_t number;     ///< The driver's.
  std::string driversName; ///< Of the device's kind: "sm_90".
  std::string description;
};
/// Of a device whose kind its driver calls so; an error where there is no code for it.
Result<GpuFacts> factsOf(const Driver &driver, const Ordinal &device, std::string_view driversName);

/// A device, and the functions that its vendor's driver alone has.
template <class OwnFunctions>
struct OpenGpu {
  GpuFacts facts;
  OwnFunctions own;
};

/// A device of the first driver that is at one of the paths. `OwnFunctions` finds itself in the
/// driver's library (`findIn`) and says what the driver calls the device's kind (`kindOf`).
template <class OwnFunctions>
Result<OpenGpu<OwnFunctions>> openWith(llvm::ArrayRef<std::string> paths, const Ordinal &device) {
  auto driver = openDriver(paths, device);
  if (!driver) return driver.failure();
  OwnFunctions own;
  if (!own.findIn(driver->library)) return driver->library.lacksFunction(device);
  auto facts = factsOf(driver->functions, device, own.kindOf(device.number));
  if (!facts) return facts.failure();
  return OpenGpu<OwnFunctions>{.facts = std::move(*facts), .own = own};
}

/// A GPU behind its vendor's driver. Any number of threads may use it at once. What names no stream
/// is done in the device's default one, and has been done when a call returns, but for `start`.
class Gpu {
public:
  virtual ~Gpu() = default;
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  const SuitableCode &code() const { return facts_.code; }
  /// What the driver calls its kind, as package::memberFor takes it.
  const std::string &driversName() const { return facts_.driversName; }
  /// Whether its driver makes an image of assembly.
  bool takesAssembly() const { return facts_.vendor->logOption != 0; }
  /// "cuda:0 (NVIDIA H100 PCIe, sm_90)"
  const std::string &description() const { return facts_.description; }

  /// `code` is an image, or assembly that the driver assembles, of a kernel that launches give as
  /// many bytes of shared memory. The error has the driver's log.
  Result<std::unique_ptr<LoadedKernel>> load(const std::string &code, const std::string &symbol,
                                             std::int32_t sharedBytes = 0) const;
  /// Launch a kernel, and wait for nothing: what goes wrong later is an error of `await`.
  Result<void> start(const LoadedKernel &kernel, const Launch &launch) const;
  /// Run a kernel and wait for it.
  Result<void> run(const LoadedKernel &kernel, const Launch &launch) const;
  /// Run it so many times; the milliseconds that one took, by the device's clock.
  Result<double> time(const LoadedKernel &kernel, const Launch &launch, std::int32_t times) const;

  Result<void *> makeStream() const;
  void destroyStream(void *stream) const;
  /// Wait for all that is in a stream; the error of what broke down there.
  Result<void> await(void *stream) const;
  /// Whether what is put into a stream is recorded, for a graph, and not done.
  bool isCapturing(void *stream) const;

  Result<void *> makeEvent() const;
  void destroyEvent(void *event) const;
  /// Now, as a place in a stream.
  Result<void> record(void *event, void *stream) const;
  Result<void> awaitEvent(void *event) const;
  /// What is put into the stream from now on comes behind the event.
  Result<void> letAwait(void *stream, void *event) const;
  Result<double> millisecondsBetween(void *first, void *last) const;

  Result<DeviceMemory> allocate(std::int64_t bytes) const;
  /// In the order of a stream, from the driver's pool where it has one (`isPooled`); at once, in
  /// the default one.
  Result<std::uint64_t> allocateIn(void *stream, std::int64_t bytes, bool &isPooled) const;
  void releaseIn(void *stream, std::uint64_t address, bool isPooled) const;
  /// Put into a stream, and waited for.
  Result<void> copyIn(std::uint64_t to, const void *from, std::int64_t bytes, void *stream) const;
  Result<void> copyOut(void *to, std::uint64_t from, std::int64_t bytes, void *stream) const;
  Result<void> copyIn(std::uint64_t to, const void *from, std::int64_t bytes) const;
  Result<void> copyOut(void *to, std::uint64_t from, std::int64_t bytes) const;
  /// As `time`, of copying between two places in the device's memory.
  Result<double> timeCopy(std::uint64_t to, std::uint64_t from, std::int64_t bytes,
                          std::int32_t times) const;
  /// Whether its driver can tell the engine of views. Where it is too old, boxes are not loaded.
  virtual bool knowsBoxes() const { return false; }
  /// What a launch with this view, whose address is the device's, passes for its boxes; or the
  /// driver's error.
  int describe(const lower::BoxMap &boxes, const ir::Argument &view, BoxMapBytes &map) const {
    return within([&] { return makeMap(boxes, view, map); });
  }
  /// What an error of the driver's says.
  std::string textOf(int error) const { return describeError(driver(), error); }

  /// Of memory allocated by whomever.
  MemoryOwner ownerOf(const void *address) const;
  /// Its number among its driver's devices, and that of another as a name: "cuda:1".
  std::int32_t number() const { return facts_.number; }
  std::string nameOf(std::int32_t number) const;

protected:
  explicit Gpu(GpuFacts facts) : facts_(std::move(facts)) {}

  /// Make the device the calling thread's current one, and again the one that was so before. The
  /// driver's error, or 0.
  virtual int enter(int &before) const = 0;
  virtual void leave(int before) const = 0;
  /// Let launches of a kernel give it so many bytes of shared memory.
  virtual int allowShared(void *function, std::int32_t bytes) const = 0;
  /// As `describe`, while the device is current.
  virtual int makeMap(const lower::BoxMap &boxes, const ir::Argument &view, BoxMapBytes &map) const;
  const Driver &driver() const { return facts_.driver; }

private:
  friend class LoadedKernel;
  friend class DeviceMemory;
  /// What `action` gives while the device is current, or the error why it can't be.
  int within(llvm::function_ref<int()> action) const;
  Failure<Diagnostic> refused(std::string_view what, int error) const;
  /// `what` says what a refusal is of.
  Result<void> did(std::string_view what, llvm::function_ref<int()> action) const;
  int enqueue(const LoadedKernel &kernel, const Launch &launch) const;
  Failure<Diagnostic> broke(std::string_view kernel, int error) const;
  /// The device that says what is wrong with a kernel that breaks down here.
  std::string emulated() const;
  int timeOf(std::int32_t times, double &milliseconds, llvm::function_ref<int()> action) const;
  int loadModule(void *&module, const std::string &code, std::string &log) const;

  GpuFacts facts_;
};

} // namespace imbrex::gpu
