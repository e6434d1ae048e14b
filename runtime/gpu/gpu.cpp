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
  return driver().launch(
      kernel.function(), blocks(0), blocks(1), blocks(2), static_cast<unsigned>(launch.threads), 1,
      1, static_cast<unsigned>(launch.sharedBytes), nullptr, each, each ? nullptr : extra.data());
}

Failure<Diagnostic> Gpu::broke(std::string_view kernel, int error) const {
  return fail(Diag::KernelBroke, {}, kernel, description(), describeError(driver(), error),
              "emulated:" + std::string(code().machine->name));
}

Result<void> Gpu::run(const LoadedKernel &kernel, const Launch &launch) const {
  const int refusal = within([&] { return enqueue(kernel, launch); });
  if (refusal != 0) {
    const auto &[x, y, z] = launch.grid.extents;
    return fail(Diag::LaunchRefused, {}, description(), launch.kernel, x, y, z, launch.threads,
                describeError(driver(), refusal));
  }
  const int error = within([&] { return driver().synchronise(nullptr); });
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
  double milliseconds = 0;
  const int error =
      within([&] { return timeOf(times, milliseconds, [&] { return enqueue(kernel, launch); }); });
  if (error != 0) return broke(launch.kernel, error);
  return milliseconds;
}

// --- memory ---

Result<DeviceMemory> Gpu::allocate(std::int64_t bytes) const {
  std::uint64_t address = 0;
  const int error =
      within([&] { return driver().allocate(&address, static_cast<std::size_t>(bytes)); });
  if (error != 0) return refused("allocate " + std::to_string(bytes) + " bytes", error);
  return DeviceMemory(*this, address);
}

Result<void> Gpu::copyIn(std::uint64_t to, const void *from, std::int64_t bytes) const {
  const int error =
      within([&] { return driver().copyIn(to, from, static_cast<std::size_t>(bytes)); });
  if (error != 0) return refused("take " + std::to_string(bytes) + " bytes", error);
  return {};
}

Result<void> Gpu::copyOut(void *to, std::uint64_t from, std::int64_t bytes) const {
  const int error =
      within([&] { return driver().copyOut(to, from, static_cast<std::size_t>(bytes)); });
  if (error != 0) return refused("give back " + std::to_string(bytes) + " bytes", error);
  return {};
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

bool Gpu::owns(const void *address) const {
  // cuda.h: CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_MEMORYTYPE_DEVICE. hip_runtime_api.h of ROCm 6 and
  // 7: HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, hipMemoryTypeDevice.
  constexpr int kMemoryType = 2;
  constexpr unsigned kDevice = 2;
  unsigned type = 0;
  const int error = within([&] {
    return driver().pointerFact(&type, kMemoryType, reinterpret_cast<std::uintptr_t>(address));
  });
  return error == 0 && type == kDevice; // of memory that it does not know the driver gives an error
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
                  .driversName = std::string(driversName),
                  .description = device.name() + " (" + given + std::string(driversName) + ")"};
}

int Gpu::describe(const lower::BoxMap &, const ir::Argument &, BoxMapBytes &) const {
  IMBREX_UNREACHABLE("{0} loads no boxes", description());
}

} // namespace imbrex::gpu
