#include "runtime/gpu/gpu.h"

#include "backend/support/check.h"

#include <array>
#include <utility>

namespace imbrex::gpu {

LoadedKernel::~LoadedKernel() {
  gpu_.within([&] { return gpu_.driver().unloadModule(module_); });
}

DeviceMemory::~DeviceMemory() {
  if (address_ != 0) gpu_->within([&] { return gpu_->driver().release(address_); });
}

int Gpu::within(llvm::function_ref<int()> action) const {
  int before = 0;
  if (const int error = enter(before); error != 0) return error;
  const int error = action();
  leave(before);
  return error;
}

Failure<Diagnostic> Gpu::refused(std::string_view what, int error) const {
  return fail(Diag::GpuRefused, {}, description(), what, describeError(driver(), error));
}

// --- code ---

int Gpu::loadModule(void *&module, const std::string &code, std::string &log) const {
  constexpr std::size_t kLogBytes = 8192;
  const Vendor &vendor = *facts_.vendor;
  std::string room(kLogBytes, '\0');
  std::array<int, 2> keys{vendor.logOption, vendor.logSizeOption};
  // The driver takes the size as if it were a pointer.
  std::array<void *, 2> values{room.data(), reinterpret_cast<void *>(room.size())};
  const unsigned options = vendor.logOption != 0 ? keys.size() : 0;
  const int error = within([&] {
    return driver().loadModule(&module, code.c_str(), options, keys.data(), values.data());
  });
  log = room.c_str();
  return error;
}

Result<std::unique_ptr<LoadedKernel>> Gpu::load(const std::string &code, const std::string &symbol,
                                                std::int32_t sharedBytes) const {
  void *module = nullptr, *function = nullptr;
  std::string log;
  if (const int error = loadModule(module, code, log); error != 0)
    return refused("load the code of '" + symbol + "'" + (log.empty() ? "" : " (" + log + ")"),
                   error);
  int error = within([&] { return driver().findKernel(&function, module, symbol.c_str()); });
  auto loaded = std::make_unique<LoadedKernel>(*this, module, function);
  if (error != 0) return refused("find '" + symbol + "' in its code", error);
  if (sharedBytes > 0) error = within([&] { return allowShared(function, sharedBytes); });
  if (error != 0)
    return refused(
        "give '" + symbol + "' " + std::to_string(sharedBytes) + " bytes of shared memory", error);
  return loaded;
}

// --- launches ---

int Gpu::enqueue(const LoadedKernel &kernel, const Launch &launch) const {
  // The words by which the two parts of the list are known, the same for both vendors: cuda.h,
  // CU_LAUNCH_PARAM_BUFFER_POINTER; hip_runtime_api.h, HIP_LAUNCH_PARAM_BUFFER_POINTER.
  constexpr std::uintptr_t kBuffer = 1, kSize = 2;
  std::size_t size = launch.arguments.size();
  std::array<void *, 5> extra{
      reinterpret_cast<void *>(kBuffer), const_cast<std::byte *>(launch.arguments.data()),
      reinterpret_cast<void *>(kSize), &size, reinterpret_cast<void *>(facts_.vendor->endOfLaunch)};
  const auto blocks = [&](std::size_t axis) {
    return static_cast<unsigned>(launch.grid.extents[axis]);
  };
  auto *const each = launch.each.empty() ? nullptr : const_cast<void **>(launch.each.data());
  return driver().launch(kernel.function(), blocks(0), blocks(1), blocks(2),
                         static_cast<unsigned>(launch.threads), 1, 1,
                         static_cast<unsigned>(launch.sharedBytes), launch.stream, each,
                         each ? nullptr : extra.data());
}

std::string Gpu::emulated() const { return "emulated:" + std::string(code().machine->name); }

Failure<Diagnostic> Gpu::broke(std::string_view kernel, int error) const {
  return fail(Diag::KernelBroke, {}, kernel, description(), describeError(driver(), error),
              emulated());
}

Result<void> Gpu::start(const LoadedKernel &kernel, const Launch &launch) const {
  const int refusal = within([&] { return enqueue(kernel, launch); });
  if (refusal == 0) return {};
  const auto &[x, y, z] = launch.grid.extents;
  return fail(Diag::LaunchRefused, {}, description(), launch.kernel, x, y, z, launch.threads,
              describeError(driver(), refusal));
}

Result<void> Gpu::run(const LoadedKernel &kernel, const Launch &launch) const {
  if (const auto started = start(kernel, launch); !started) return started;
  const int error = within([&] { return driver().synchronise(launch.stream); });
  if (error != 0) return broke(launch.kernel, error);
  return {};
}

int Gpu::timeOf(std::int32_t times, double &milliseconds, llvm::function_ref<int()> action) const {
  void *first = nullptr, *last = nullptr;
  float total = 0;
  const auto measure = [&] {
    int error = driver().recordEvent(first, nullptr);
    for (std::int32_t i = 0; i < times && error == 0; ++i) error = action();
    if (error == 0) error = driver().recordEvent(last, nullptr);
    if (error == 0) error = driver().awaitEvent(last);
    return error != 0 ? error : driver().timeBetween(&total, first, last);
  };
  int error = driver().makeEvent(&first, 0);
  if (error == 0) error = driver().makeEvent(&last, 0);
  if (error == 0) error = measure();
  if (first != nullptr) driver().destroyEvent(first);
  if (last != nullptr) driver().destroyEvent(last);
  milliseconds = static_cast<double>(total) / times;
  return error;
}

Result<double> Gpu::time(const LoadedKernel &kernel, const Launch &launch,
                         std::int32_t times) const {
  IMBREX_CHECK(launch.stream == nullptr, "a launch of '{0}' in a stream is timed", launch.kernel);
  double milliseconds = 0;
  const int error =
      within([&] { return timeOf(times, milliseconds, [&] { return enqueue(kernel, launch); }); });
  if (error != 0) return broke(launch.kernel, error);
  return milliseconds;
}

// --- streams and events ---

Result<void> Gpu::did(std::string_view what, llvm::function_ref<int()> action) const {
  const int error = within(action);
  if (error != 0) return refused(what, error);
  return {};
}

Result<void *> Gpu::makeStream() const {
  // What is in the default stream and in such a one is done in the order in which it was put there.
  constexpr unsigned kOrderedWithDefault = 0; // cuda.h: CU_STREAM_DEFAULT
  void *stream = nullptr;
  if (const auto made =
          did("make a stream", [&] { return driver().makeStream(&stream, kOrderedWithDefault); });
      !made)
    return made.failure();
  return stream;
}

void Gpu::destroyStream(void *stream) const {
  within([&] { return driver().destroyStream(stream); });
}

Result<void> Gpu::await(void *stream) const {
  const int error = within([&] { return driver().synchronise(stream); });
  if (error != 0)
    return fail(Diag::StreamBroke, {}, description(), describeError(driver(), error), emulated());
  return {};
}

bool Gpu::isCapturing(void *stream) const {
  int status = 0; // cuda.h: CU_STREAM_CAPTURE_STATUS_NONE
  return within([&] { return driver().isCapturing(stream, &status); }) == 0 && status != 0;
}

Result<void *> Gpu::makeEvent() const {
  void *event = nullptr;
  if (const auto made = did("make an event", [&] { return driver().makeEvent(&event, 0); }); !made)
    return made.failure();
  return event;
}

void Gpu::destroyEvent(void *event) const {
  within([&] { return driver().destroyEvent(event); });
}

Result<void> Gpu::record(void *event, void *stream) const {
  return did("record an event", [&] { return driver().recordEvent(event, stream); });
}

Result<void> Gpu::awaitEvent(void *event) const {
  return did("wait for an event", [&] { return driver().awaitEvent(event); });
}

Result<void> Gpu::letAwait(void *stream, void *event) const {
  return did("let a stream wait", [&] { return driver().streamAwaits(stream, event, 0); });
}

Result<double> Gpu::millisecondsBetween(void *first, void *last) const {
  float milliseconds = 0;
  const auto told = did("tell the time between two events",
                        [&] { return driver().timeBetween(&milliseconds, first, last); });
  if (!told) return told.failure();
  return static_cast<double>(milliseconds);
}

// --- memory ---

Result<DeviceMemory> Gpu::allocate(std::int64_t bytes) const {
  bool isPooled = false;
  const auto address = allocateIn(nullptr, bytes, isPooled);
  if (!address) return address.failure();
  return DeviceMemory(*this, *address);
}

Result<void> Gpu::copyIn(std::uint64_t to, const void *from, std::int64_t bytes) const {
  return did("take " + std::to_string(bytes) + " bytes",
             [&] { return driver().copyIn(to, from, static_cast<std::size_t>(bytes)); });
}

Result<void> Gpu::copyOut(void *to, std::uint64_t from, std::int64_t bytes) const {
  return did("give back " + std::to_string(bytes) + " bytes",
             [&] { return driver().copyOut(to, from, static_cast<std::size_t>(bytes)); });
}

Result<double> Gpu::timeCopy(std::uint64_t to, std::uint64_t from, std::int64_t bytes,
                             std::int32_t times) const {
  double milliseconds = 0;
  const auto copy = [&] {
    return driver().copyWithin(to, from, static_cast<std::size_t>(bytes), nullptr);
  };
  const int error = within([&] { return timeOf(times, milliseconds, copy); });
  if (error != 0) return refused("copy " + std::to_string(bytes) + " bytes", error);
  return milliseconds;
}

MemoryOwner Gpu::ownerOf(const void *address) const {
  // cuda.h: CU_POINTER_ATTRIBUTE_MEMORY_TYPE and _DEVICE_ORDINAL, CU_MEMORYTYPE_DEVICE.
  // hip_runtime_api.h of ROCm 6 and 7: HIP_POINTER_ATTRIBUTE_…, hipMemoryTypeDevice.
  std::array<int, 2> which{2, 9};
  constexpr unsigned kDevice = 2;
  unsigned type = 0;
  MemoryOwner owner;
  std::array<void *, 2> values{&type, &owner.number};
  const int error = within([&] {
    return driver().pointerFacts(which.size(), which.data(), values.data(),
                                 reinterpret_cast<std::uintptr_t>(address));
  });
  // Of memory that it does not know the driver gives an error, or nothing.
  owner.isDevice = error == 0 && type == kDevice;
  return owner;
}

std::string Gpu::nameOf(std::int32_t number) const {
  return Ordinal{.vendor = facts_.vendor, .number = number}.name();
}

Result<std::uint64_t> Gpu::allocateIn(void *stream, std::int64_t bytes, bool &isPooled) const {
  constexpr int kNotSupported = 801; // cuda.h: CUDA_ERROR_NOT_SUPPORTED; hipErrorNotSupported
  const auto size = static_cast<std::size_t>(bytes);
  std::uint64_t address = 0;
  // What is taken in the default stream is there for all others at once.
  int error = kNotSupported;
  if (stream != nullptr)
    error = within([&] { return driver().allocateIn(&address, size, stream); });
  isPooled = error != kNotSupported;
  if (!isPooled) error = within([&] { return driver().allocate(&address, size); });
  if (error != 0) return refused("allocate " + std::to_string(bytes) + " bytes", error);
  return address;
}

void Gpu::releaseIn(void *stream, std::uint64_t address, bool isPooled) const {
  within([&] {
    if (isPooled) return driver().releaseIn(address, stream);
    driver().synchronise(stream); // whoever is in it may still use the memory
    return driver().release(address);
  });
}

Result<void> Gpu::copyIn(std::uint64_t to, const void *from, std::int64_t bytes,
                         void *stream) const {
  return did("take " + std::to_string(bytes) + " bytes", [&] {
    const int error = driver().copyInBy(to, from, static_cast<std::size_t>(bytes), stream);
    return error != 0 ? error : driver().synchronise(stream);
  });
}

Result<void> Gpu::copyOut(void *to, std::uint64_t from, std::int64_t bytes, void *stream) const {
  return did("give back " + std::to_string(bytes) + " bytes", [&] {
    const int error = driver().copyOutBy(to, from, static_cast<std::size_t>(bytes), stream);
    return error != 0 ? error : driver().synchronise(stream);
  });
}

Result<GpuFacts> factsOf(const Driver &driver, const Ordinal &device,
                         std::string_view driversName) {
  const auto code = suitableCode(driversName, device);
  if (!code) return code.failure();
  std::array<char, 256> name{};
  const bool isNamed = driver.deviceName(name.data(), name.size() - 1, device.number) == 0;
  const std::string given = isNamed ? std::string(name.data()) + ", " : "";
  return GpuFacts{.vendor = device.vendor,
                  .driver = driver,
                  .code = *code,
                  .number = device.number,
                  .driversName = std::string(driversName),
                  .description = device.name() + " (" + given + std::string(driversName) + ")"};
}

int Gpu::makeMap(const lower::BoxMap &, const ir::Argument &, BoxMapBytes &) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", description());
}

} // namespace imbrex::gpu
