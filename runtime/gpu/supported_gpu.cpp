#include "runtime/gpu/supported_gpu.h"

#include "backend/support/check.h"

namespace imbrex::gpu {

LoadedKernel::~LoadedKernel() {
  if (module_.module != nullptr) gpu_.driver_->unload(module_);
}

DeviceMemory::~DeviceMemory() {
  if (address_ == 0) return;
  if (stream_ == nullptr)
    gpu_->driver_->release(address_);
  else
    gpu_->releaseIn(stream_, address_, isPooled_);
}

namespace {

Failure<Diagnostic> failureOf(const driver::Problem &problem, const driver::Vendor &vendor,
                              std::int32_t number) {
  using Kind = driver::Problem::Kind;
  const std::string device = driver::nameOf(vendor, number);
  switch (problem.kind) {
  case Kind::NoLibrary:
    return fail(Diag::NoDriver, {}, device, vendor.driver, problem.text, vendor.variable);
  case Kind::LacksFunction:
    return fail(Diag::DriverLacksFunction, {}, device, vendor.driver, problem.text,
                problem.function);
  case Kind::NoDevice: return fail(Diag::NoGpu, {}, device, vendor.driver, problem.text);
  case Kind::Refused: return fail(Diag::GpuRefused, {}, problem.device, "be used", problem.text);
  }
  IMBREX_UNREACHABLE("problem");
}

} // namespace

Result<std::unique_ptr<SupportedGpu>> openGpu(const Make &make, llvm::ArrayRef<std::string> paths,
                                              std::int32_t number) {
  driver::Problem problem;
  std::unique_ptr<driver::Gpu> opened =
      driver::open(make.vendor, number, {paths.data(), paths.size()}, problem);
  if (!opened) return failureOf(problem, make.vendor, number);
  const auto code = suitableCode(opened->kind(), make, number);
  if (!code) return code.failure();
  return std::make_unique<SupportedGpu>(std::move(opened), *code);
}

Failure<Diagnostic> SupportedGpu::refused(std::string_view what, int error) const {
  return fail(Diag::GpuRefused, {}, description(), what, textOf(error));
}

// --- code ---

Result<std::unique_ptr<LoadedKernel>> SupportedGpu::load(const std::string &code,
                                                         const std::string &symbol,
                                                         const KernelNeeds &needs) const {
  auto made = std::make_unique<LoadedKernel>(*this, symbol, code);
  driver::LoadReport report;
  const int error =
      driver_->load({made->code_.c_str(), made->name_.c_str(), needs}, made->module_, report);
  if (error == 0) return made;
  switch (report.at) {
  case driver::LoadStep::Load:
    return refused("load the code of '" + symbol + "'" +
                       (report.log.empty() ? "" : " (" + report.log + ")"),
                   error);
  case driver::LoadStep::Find: return refused("find '" + symbol + "' in its code", error);
  case driver::LoadStep::AllowShared:
    return refused("give '" + symbol + "' " + std::to_string(needs.sharedBytes) +
                       " bytes of shared memory",
                   error);
  case driver::LoadStep::AllowCluster:
    return refused("let '" + symbol + "' have clusters of " + std::to_string(needs.clusterBlocks) +
                       " blocks",
                   error);
  }
  IMBREX_UNREACHABLE("step of a load");
}

// --- launches ---

std::string SupportedGpu::emulated() const {
  return "emulated:" + std::string(code().machine->name);
}

Failure<Diagnostic> SupportedGpu::broke(const LoadedKernel &kernel, int error) const {
  return fail(Diag::KernelBroke, {}, kernel.name(), description(), textOf(error), emulated());
}

Result<void> SupportedGpu::start(const LoadedKernel &kernel, const Launch &launch) const {
  return started(kernel, launch, driver_->start(kernel.module(), launch));
}

Result<void> SupportedGpu::started(const LoadedKernel &kernel, const Launch &launch,
                                   int refusal) const {
  if (refusal == 0) return {};
  const auto &[x, y, z] = launch.grid;
  return fail(Diag::LaunchRefused, {}, description(), kernel.name(), x, y, z, launch.threads,
              textOf(refusal));
}

Result<void> SupportedGpu::run(const LoadedKernel &kernel, const Launch &launch) const {
  if (const auto started = start(kernel, launch); !started) return started;
  if (const int error = driver_->await(launch.stream); error != 0) return broke(kernel, error);
  return {};
}

Result<double> SupportedGpu::time(const LoadedKernel &kernel, const Launch &launch,
                                  std::int32_t times) const {
  IMBREX_CHECK(launch.stream == nullptr, "a launch of '{0}' in a stream is timed", kernel.name());
  double milliseconds = 0;
  const int error = driver_->time(kernel.module(), launch, times, milliseconds);
  if (error != 0) return broke(kernel, error);
  return milliseconds;
}

int SupportedGpu::describe(const lower::BoxMap &boxes, const ir::Argument &view,
                           BoxMapBytes &map) const {
  const std::size_t rank = boxes.box.size();
  return driver_->describeBoxes({.box = boxes.box,
                                 .extents = std::span(view.extents).first(rank),
                                 .strides = std::span(view.strides).first(rank),
                                 .elementBytes = boxes.elementBytes,
                                 .swizzleBytes = boxes.span,
                                 .data = view.data},
                                map);
}

// --- streams and events ---

Result<void> SupportedGpu::did(std::string_view what, int error) const {
  if (error != 0) return refused(what, error);
  return {};
}

Result<void *> SupportedGpu::makeStream() const {
  void *stream = nullptr;
  if (const int error = driver_->makeStream(stream); error != 0)
    return refused("make a stream", error);
  return stream;
}

Result<void> SupportedGpu::await(void *stream) const {
  const int error = driver_->await(stream);
  if (error != 0) return fail(Diag::StreamBroke, {}, description(), textOf(error), emulated());
  return {};
}

Result<void *> SupportedGpu::makeEvent(void *stream) const {
  void *event = nullptr;
  if (const int error = driver_->makeEvent(event, stream); error != 0)
    return refused("make an event", error);
  return event;
}

Result<void> SupportedGpu::record(void *event, void *stream) const {
  return did("record an event", driver_->recordEvent(event, stream));
}

Result<void> SupportedGpu::awaitEvent(void *event) const {
  return did("wait for an event", driver_->awaitEvent(event));
}

Result<void> SupportedGpu::letAwait(void *stream, void *event) const {
  return did("let a stream wait", driver_->letAwait(stream, event));
}

Result<double> SupportedGpu::millisecondsBetween(void *first, void *last) const {
  double milliseconds = 0;
  const int error = driver_->millisecondsBetween(first, last, milliseconds);
  if (error != 0) return refused("tell the time between two events", error);
  return milliseconds;
}

// --- memory ---

Result<DeviceMemory> SupportedGpu::allocate(std::int64_t bytes, void *stream) const {
  bool isPooled = false;
  const auto address = allocateIn(stream, bytes, isPooled);
  if (!address) return address.failure();
  return DeviceMemory(*this, *address, stream, isPooled);
}

Result<std::uint64_t> SupportedGpu::allocateIn(void *stream, std::int64_t bytes,
                                               bool &isPooled) const {
  std::uint64_t address = 0;
  const int error = driver_->allocateIn(stream, bytes, address, isPooled);
  if (error != 0) return refused("allocate " + std::to_string(bytes) + " bytes", error);
  return address;
}

Result<void> SupportedGpu::copied(std::string_view direction, std::int64_t bytes, int error) const {
  if (error == 0) return {};
  return refused(std::string(direction) + " " + std::to_string(bytes) + " bytes", error);
}

Result<void *> SupportedGpu::allocatePinned(std::int64_t bytes) const {
  void *memory = nullptr;
  const int error = driver_->allocatePinned(bytes, memory);
  if (error != 0) return refused("allocate " + std::to_string(bytes) + " pinned bytes", error);
  return memory;
}

Result<void> SupportedGpu::startCopyIn(std::uint64_t to, const void *from, std::int64_t bytes,
                                       void *stream) const {
  return copied("take", bytes, driver_->startCopyIn(to, from, bytes, stream));
}

Result<void> SupportedGpu::startCopyOut(void *to, std::uint64_t from, std::int64_t bytes,
                                        void *stream) const {
  return copied("give back", bytes, driver_->startCopyOut(to, from, bytes, stream));
}

Result<void> SupportedGpu::copyIn(std::uint64_t to, const void *from, std::int64_t bytes,
                                  void *stream) const {
  return copied("take", bytes, driver_->copyIn(to, from, bytes, stream));
}

Result<void> SupportedGpu::copyOut(void *to, std::uint64_t from, std::int64_t bytes,
                                   void *stream) const {
  return copied("give back", bytes, driver_->copyOut(to, from, bytes, stream));
}

Result<void> SupportedGpu::copyIn(std::uint64_t to, const void *from, std::int64_t bytes) const {
  return copied("take", bytes, driver_->copyIn(to, from, bytes));
}

Result<void> SupportedGpu::copyOut(void *to, std::uint64_t from, std::int64_t bytes) const {
  return copied("give back", bytes, driver_->copyOut(to, from, bytes));
}

Result<double> SupportedGpu::timeCopy(std::uint64_t to, std::uint64_t from, std::int64_t bytes,
                                      std::int32_t times) const {
  double milliseconds = 0;
  const int error = driver_->timeCopy(to, from, bytes, times, milliseconds);
  if (error != 0) return refused("copy " + std::to_string(bytes) + " bytes", error);
  return milliseconds;
}

} // namespace imbrex::gpu
