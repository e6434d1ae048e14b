#pragma once

#include "backend/ir/argument.h"
#include "backend/lower/kernel_interface.h"
#include "llvm/ADT/ArrayRef.h"
#include "runtime/aot/driver/kept_launch.h"
#include "runtime/aot/driver/staged_copies.h"
#include "runtime/gpu/make.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

/// GPUs behind their vendors' drivers, as the compiler wants them: what a driver refuses is a
/// diagnostic.
namespace imbrex::gpu {

class SupportedGpu;

using driver::BoxMapBytes, driver::KernelNeeds, driver::Launch, driver::MemoryOwner;
static_assert(sizeof(BoxMapBytes) == lower::BoxMap::kBytes);

/// A kernel that a GPU has loaded; unloaded with this.
class LoadedKernel {
public:
  /// Nothing is loaded yet.
  LoadedKernel(const SupportedGpu &gpu, std::string name, std::string code)
      : gpu_(gpu), name_(std::move(name)), code_(std::move(code)) {}
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel &) = delete;
  LoadedKernel &operator=(const LoadedKernel &) = delete;
  const std::string &name() const { return name_; }
  const driver::Module &module() const { return module_; }

private:
  friend class SupportedGpu;
  const SupportedGpu &gpu_;
  std::string name_, code_; // what the module needs as long as it is there
  driver::Module module_;
};

/// Memory of a GPU, taken in the order of a stream, and with this given back so. Its address is a
/// multiple of driver::kMemoryAlignment.
class DeviceMemory {
public:
  /// As SupportedGpu::allocateIn gave it.
  DeviceMemory(const SupportedGpu &gpu, std::uint64_t address, void *stream, bool isPooled)
      : gpu_(&gpu), stream_(stream), address_(address), isPooled_(isPooled) {}
  DeviceMemory(DeviceMemory &&other) noexcept
      : gpu_(other.gpu_), stream_(other.stream_), address_(std::exchange(other.address_, 0)),
        isPooled_(other.isPooled_) {}
  DeviceMemory &operator=(DeviceMemory &&) = delete;
  ~DeviceMemory();
  std::uint64_t address() const { return address_; }

private:
  const SupportedGpu *gpu_;
  void *stream_;
  std::uint64_t address_; // 0: none
  bool isPooled_;
};

/// A GPU that there is code for. Any number of threads may use it at once. What names no stream is
/// done in the device's default one, and has been done when a call returns, but for `start`.
class SupportedGpu {
public:
  SupportedGpu(std::unique_ptr<driver::Gpu> opened, SuitableCode code)
      : driver_(std::move(opened)), code_(code) {}

  const SuitableCode &code() const { return code_; }
  const driver::Gpu &driver() const { return *driver_; }
  /// What the driver calls its kind, as package::memberFor takes it.
  const std::string &driversName() const { return driver_->kind(); }
  /// Whether its driver makes an image of assembly.
  bool takesAssembly() const { return driver_->takesAssembly(); }
  /// "cuda:0 (NVIDIA H100 PCIe, sm_90)"
  const std::string &description() const { return driver_->description(); }

  /// `code` is an image, or assembly that the driver assembles. The error has the driver's log.
  Result<std::unique_ptr<LoadedKernel>> load(const std::string &code, const std::string &symbol,
                                             const KernelNeeds &needs = {}) const;
  /// Launch a kernel, and wait for nothing: what goes wrong later is an error of `await`.
  Result<void> start(const LoadedKernel &kernel, const Launch &launch) const;
  /// What the driver said of one.
  Result<void> started(const LoadedKernel &kernel, const Launch &launch, int refusal) const;
  /// Run a kernel and wait for it.
  Result<void> run(const LoadedKernel &kernel, const Launch &launch) const;
  /// Run it so many times; the milliseconds that one took, by the device's clock.
  Result<double> time(const LoadedKernel &kernel, const Launch &launch, std::int32_t times) const;

  Result<void *> makeStream() const;
  void destroyStream(void *stream) const { driver_->destroyStream(stream); }
  /// Wait for all that is in a stream; the error of what broke down there.
  Result<void> await(void *stream) const;
  /// Whether what is put into a stream is recorded, for a graph, and not done.
  bool isCapturing(void *stream) const { return driver_->isCapturing(stream); }

  /// For this stream, and others of its context.
  Result<void *> makeEvent(void *stream) const;
  void destroyEvent(void *event) const { driver_->destroyEvent(event); }
  /// Now, as a place in a stream.
  Result<void> record(void *event, void *stream) const;
  Result<void> awaitEvent(void *event) const;
  /// What is put into the stream from now on comes behind the event.
  Result<void> letAwait(void *stream, void *event) const;
  Result<double> millisecondsBetween(void *first, void *last) const;

  Result<DeviceMemory> allocate(std::int64_t bytes, void *stream = nullptr) const;
  /// In the order of a stream, from the driver's pool where it has one (`isPooled`); at once, in
  /// the default one.
  Result<std::uint64_t> allocateIn(void *stream, std::int64_t bytes, bool &isPooled) const;
  void releaseIn(void *stream, std::uint64_t address, bool isPooled) const {
    driver_->releaseIn(stream, address, isPooled);
  }
  /// Memory of the host that GPUs copy from and to while they and the host do other work.
  Result<void *> allocatePinned(std::int64_t bytes) const;
  void releasePinned(void *memory) const { driver_->releasePinned(memory); }
  /// Put into a stream, where the host's memory is read or written when its turn comes.
  Result<void> startCopyIn(std::uint64_t to, const void *from, std::int64_t bytes,
                           void *stream) const;
  Result<void> startCopyOut(void *to, std::uint64_t from, std::int64_t bytes, void *stream) const;
  /// The same, and waited for.
  Result<void> copyIn(std::uint64_t to, const void *from, std::int64_t bytes, void *stream) const;
  Result<void> copyOut(void *to, std::uint64_t from, std::int64_t bytes, void *stream) const;
  Result<void> copyIn(std::uint64_t to, const void *from, std::int64_t bytes) const;
  Result<void> copyOut(void *to, std::uint64_t from, std::int64_t bytes) const;
  /// By somebody's pieces of pinned memory.
  Result<void> copyIn(driver::StagedCopies &by, std::uint64_t to, const void *from,
                      std::int64_t bytes) const {
    return copied("take", bytes, by.copyIn(to, from, bytes));
  }
  template <class Take>
  Result<void> copyOut(driver::StagedCopies &by, std::uint64_t from, std::int64_t bytes,
                       Take take) const {
    return copied("give back", bytes, by.copyOut(from, bytes, take));
  }
  /// As `time`, of copying between two places in the device's memory.
  Result<double> timeCopy(std::uint64_t to, std::uint64_t from, std::int64_t bytes,
                          std::int32_t times) const;
  /// Whether its driver can tell the engine of views. Where it is too old, boxes are not loaded.
  bool knowsBoxes() const { return driver_->knowsBoxes(); }
  /// What a launch with this view, whose address is the device's, passes for its boxes; or the
  /// driver's error.
  int describe(const lower::BoxMap &boxes, const ir::Argument &view, BoxMapBytes &map) const;
  /// What an error of the driver's says.
  std::string textOf(int error) const { return driver_->textOf(error); }

  /// Of memory allocated by whomever.
  MemoryOwner ownerOf(const void *address) const { return driver_->ownerOf(address); }
  /// Its number among its driver's devices, and that of another as a name: "cuda:1".
  std::int32_t number() const { return driver_->number(); }
  std::string nameOf(std::int32_t number) const {
    return driver::nameOf(driver_->vendor(), number);
  }

private:
  friend class LoadedKernel;
  friend class DeviceMemory;
  Failure<Diagnostic> refused(std::string_view what, int error) const;
  /// `what` says what a refusal is of.
  Result<void> did(std::string_view what, int error) const;
  Result<void> copied(std::string_view direction, std::int64_t bytes, int error) const;
  Failure<Diagnostic> broke(const LoadedKernel &kernel, int error) const;
  /// The device that says what is wrong with a kernel that breaks down here.
  std::string emulated() const;

  std::unique_ptr<driver::Gpu> driver_;
  SuitableCode code_;
};

/// A device of the first driver that is at one of the paths.
Result<std::unique_ptr<SupportedGpu>> openGpu(const Make &make, llvm::ArrayRef<std::string> paths,
                                              std::int32_t number);

} // namespace imbrex::gpu
