#include "runtime/aot/driver/gpu.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace imbrex::driver {
namespace {

/// Whether an error is one of contexts and what belongs to them: then nothing has been done.
bool isOfContexts(int error) {
  // cuda.h: CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE
  constexpr int kInvalidContext = 201, kInvalidHandle = 400;
  return error == kInvalidContext || error == kInvalidHandle;
}

std::string descriptionOf(const OpenDriver &opened, const std::string &kind) {
  std::array<char, 256> name{};
  const bool isNamed =
      opened.functions.deviceName(name.data(), name.size() - 1, opened.number) == 0;
  return nameOf(*opened.vendor, opened.number) + " (" +
         (isNamed ? std::string(name.data()) + ", " : "") + kind + ")";
}

} // namespace

std::unique_ptr<Gpu> open(const Vendor &vendor, std::int32_t number,
                          std::span<const std::string> paths, Problem &problem) {
  OpenDriver opened{.vendor = &vendor, .number = number};
  return openDriver(paths, opened, problem) ? vendor.make(opened, problem) : nullptr;
}

Gpu::Gpu(const OpenDriver &opened, std::string kind)
    : vendor_(opened.vendor), driver_(opened.functions), number_(opened.number),
      kind_(std::move(kind)), description_(descriptionOf(opened, kind_)) {}

template <class Action>
int Gpu::entering(const Place &place, Action action) const {
  Entered entered;
  if (const int error = enter(place, entered); error != 0) return error;
  const int error = action(entered);
  if (entered.before != Entered::kStays) leave(entered);
  return isOfContexts(error) && isElsewhere(place.stream, entered) ? entering(place, action)
                                                                   : error;
}

template <class Action>
int Gpu::within(void *stream, Action action) const {
  return entering({.stream = stream}, [&](const Entered &) { return action(); });
}

void Gpu::clearPool() const {
  pool_.clear([&](void *memory) {
    entering({.isPrimary = true}, [&](const Entered &) { return driver().releasePinned(memory); });
  });
}

// --- code ---

int Gpu::loadModule(void *&module, const char *code, std::string &log) const {
  constexpr std::size_t kLogBytes = 8192;
  std::string room(kLogBytes, '\0');
  std::array<int, 2> keys{vendor_->logOption, vendor_->logSizeOption};
  // The driver takes the size as if it were a pointer.
  std::array<void *, 2> values{room.data(), reinterpret_cast<void *>(room.size())};
  const unsigned options = takesAssembly() ? static_cast<unsigned>(keys.size()) : 0;
  const int error = driver().loadModule(&module, code, options, keys.data(), values.data());
  log = room.c_str();
  return error;
}

int Gpu::allow(const KernelNeeds &needs, void *function, LoadStep &at) const {
  at = LoadStep::AllowShared;
  if (needs.sharedBytes > 0)
    if (const int error = allowShared(function, needs.sharedBytes); error != 0) return error;
  at = LoadStep::AllowCluster;
  return needs.clusterBlocks > 1 ? allowCluster(function, needs.clusterBlocks) : 0;
}

int Gpu::loadHere(const KernelCode &kernel, Module &made, LoadReport &report) const {
  report.at = LoadStep::Load;
  int error = loadModule(made.module, kernel.code, report.log);
  if (error != 0) return error;
  report.at = LoadStep::Find;
  error = driver().findKernel(&made.function, made.module, kernel.symbol);
  if (error == 0) error = allow(kernel.needs, made.function, report.at);
  if (error != 0) driver().unloadModule(std::exchange(made, {}).module);
  return error;
}

class LoadedElsewhere {
public:
  explicit LoadedElsewhere(const KernelCode &kernel) : kernel_(kernel) {}

  /// The function in a context, which `load` loads there if it has not been.
  template <class Load>
  int find(void *context, std::uint64_t id, void *&function, Load load) {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find_if(
        functions_, [&](const InContext &one) { return one.context == context && one.id == id; });
    if (known != functions_.end()) return function = known->function, 0;
    if (const int error = load(kernel_, function); error != 0) return error;
    functions_.push_back({context, id, function});
    return 0;
  }

private:
  struct InContext {
    void *context;
    std::uint64_t id; // a later one may be where an earlier one was
    void *function;
  };

  const KernelCode kernel_;
  std::mutex mutex_;
  std::vector<InContext> functions_;
};

int Gpu::findElsewhere(const Module &module, void *context, void *stream, void *&function) const {
  const auto load = [&](const KernelCode &kernel, void *&loaded) {
    constexpr int kCaptureUnsupported = 900; // cuda.h: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    int isCaptured = 0;
    if (const int error = driver().isCapturing(stream, &isCaptured); error != 0) return error;
    if (isCaptured != 0) return kCaptureUnsupported;
    Module made;
    LoadReport report;
    const int error = loadHere(kernel, made, report);
    loaded = made.function;
    return error;
  };
  return module.elsewhere->find(context, idOf(context), function, load);
}

int Gpu::load(const KernelCode &kernel, Module &made, LoadReport &report) const {
  made = {};
  const int error = entering({.isPrimary = true},
                             [&](const Entered &) { return loadHere(kernel, made, report); });
  if (error == 0) made.elsewhere = new LoadedElsewhere(kernel);
  return error;
}

int Gpu::loadFor(const Module &module, void *stream) const {
  return entering({.stream = stream, .isUnseen = true}, [&](const Entered &entered) {
    void *function = nullptr;
    return entered.context == nullptr ? 0
                                      : findElsewhere(module, entered.context, stream, function);
  });
}

void Gpu::unload(const Module &module) const {
  entering({.isPrimary = true},
           [&](const Entered &) { return driver().unloadModule(module.module); });
  delete module.elsewhere;
}

// --- launches ---

void LaunchWords::set(const Launch &launch, const Gpu &gpu, const Module &kernel) {
  // The words by which the two parts of the list are known, the same for both vendors: cuda.h,
  // CU_LAUNCH_PARAM_BUFFER_POINTER; hip_runtime_api.h, HIP_LAUNCH_PARAM_BUFFER_POINTER.
  constexpr std::uintptr_t kBuffer = 1, kSize = 2;
  std::ranges::copy(launch.grid, grid_.begin());
  threads_ = static_cast<unsigned>(launch.threads);
  sharedBytes_ = static_cast<unsigned>(launch.sharedBytes);
  bytes_ = launch.arguments.size();
  list_ = {reinterpret_cast<void *>(kBuffer),
           const_cast<std::byte *>(launch.arguments.data()),
           reinterpret_cast<void *>(kSize),
           &bytes_,
           reinterpret_cast<void *>(gpu.vendor().endOfLaunch),
           this};
  kernel_ = kernel;
  attributes_ = launch.attributes;
  gpu_ = &gpu;
  const bool isList = launch.each.empty(), isPlain = !attributes_.areAny();
  call_ = isPlain ? gpu.driver().launch : &Gpu::callAttributed;
  each_ = isList ? nullptr : const_cast<void **>(launch.each.data());
  extra_ = isList || !isPlain ? list_.data() : nullptr;
}

/// Called as a driver's function is; the list leads back to the words.
int Gpu::callAttributed(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                        unsigned blockX, unsigned /*blockY*/, unsigned /*blockZ*/,
                        unsigned sharedBytes, void *stream, void **each, void **list) {
  const auto &words = *static_cast<const LaunchWords *>(list[LaunchWords::kOwn]);
  return words.gpu_->launchAttributed({.function = function,
                                       .grid = {gridX, gridY, gridZ},
                                       .threads = blockX,
                                       .sharedBytes = sharedBytes,
                                       .stream = stream,
                                       .each = each,
                                       .extra = each == nullptr ? list : nullptr,
                                       .attributes = words.attributes_});
}

int Gpu::enqueue(const LaunchWords &words, void *stream, const Entered &entered) const {
  void *function = words.kernel_.function;
  if (entered.context != nullptr)
    if (const int error = findElsewhere(words.kernel_, entered.context, stream, function);
        error != 0)
      return error;
  return hand(function, words, stream);
}

int Gpu::start(const Module &kernel, const Launch &launch) const {
  LaunchWords words;
  words.set(launch, *this, kernel);
  return startElsewhere(words, launch.stream);
}

int Gpu::notStarted(int error, const LaunchWords &words, void *stream) const {
  return isOfContexts(error) ? startElsewhere(words, stream) : error;
}

int Gpu::startElsewhere(const LaunchWords &words, void *stream) const {
  return entering({.stream = stream},
                  [&](const Entered &entered) { return enqueue(words, stream, entered); });
}

template <class Action>
int Gpu::timeOf(std::int32_t times, double &milliseconds, Action action) const {
  void *first = nullptr, *last = nullptr;
  float total = 0;
  const auto measure = [&](const Entered &entered) {
    int error = driver().recordEvent(first, nullptr);
    for (std::int32_t i = 0; i < times && error == 0; ++i) error = action(entered);
    if (error == 0) error = driver().recordEvent(last, nullptr);
    if (error == 0) error = driver().awaitEvent(last);
    return error != 0 ? error : driver().timeBetween(&total, first, last);
  };
  const int error = entering({}, [&](const Entered &entered) {
    int failed = driver().makeEvent(&first, 0);
    if (failed == 0) failed = driver().makeEvent(&last, 0);
    if (failed == 0) failed = measure(entered);
    if (first != nullptr) driver().destroyEvent(first);
    if (last != nullptr) driver().destroyEvent(last);
    return failed;
  });
  milliseconds = static_cast<double>(total) / times;
  return error;
}

int Gpu::time(const Module &kernel, const Launch &launch, std::int32_t times,
              double &milliseconds) const {
  LaunchWords words;
  words.set(launch, *this, kernel);
  return timeOf(times, milliseconds,
                [&](const Entered &entered) { return enqueue(words, launch.stream, entered); });
}

int Gpu::describeBoxes(const Boxes &boxes, BoxMapBytes &map) const {
  return within(nullptr, [&] { return makeMap(boxes, map); });
}

int Gpu::makeMap(const Boxes & /*boxes*/, BoxMapBytes & /*map*/) const { return kNotSupported; }

// --- streams and events ---

int Gpu::makeStream(void *&stream) const {
  // What is in the default stream and in such a one is done in the order in which it was put there.
  constexpr unsigned kOrderedWithDefault = 0; // cuda.h: CU_STREAM_DEFAULT
  return within(nullptr, [&] { return driver().makeStream(&stream, kOrderedWithDefault); });
}

void Gpu::destroyStream(void *stream) const {
  within(stream, [&] { return driver().destroyStream(stream); });
}

int Gpu::await(void *stream) const {
  return within(stream, [&] { return driver().synchronise(stream); });
}

bool Gpu::isCapturing(void *stream) const {
  int status = 0; // cuda.h: CU_STREAM_CAPTURE_STATUS_NONE
  return within(stream, [&] { return driver().isCapturing(stream, &status); }) == 0 && status != 0;
}

int Gpu::makeEvent(void *&event, void *stream) const {
  return entering({.stream = stream, .isUnseen = true},
                  [&](const Entered &) { return driver().makeEvent(&event, 0); });
}

void Gpu::destroyEvent(void *event) const {
  within(nullptr, [&] { return driver().destroyEvent(event); });
}

int Gpu::recordEvent(void *event, void *stream) const {
  return within(stream, [&] { return driver().recordEvent(event, stream); });
}

int Gpu::awaitEvent(void *event) const {
  return within(nullptr, [&] { return driver().awaitEvent(event); });
}

int Gpu::letAwait(void *stream, void *event) const {
  return within(stream, [&] { return driver().streamAwaits(stream, event, 0); });
}

int Gpu::millisecondsBetween(void *first, void *last, double &milliseconds) const {
  float taken = 0;
  const int error = within(nullptr, [&] { return driver().timeBetween(&taken, first, last); });
  milliseconds = static_cast<double>(taken);
  return error;
}

// --- memory ---

int Gpu::allocateIn(void *stream, std::int64_t bytes, std::uint64_t &address,
                    bool &isPooled) const {
  const auto size = static_cast<std::size_t>(bytes);
  // Of a pool, which is the device's; or of the context that is current.
  return entering({.stream = stream, .isUnseen = true}, [&](const Entered &) {
    // What is taken in the default stream is there for all others at once.
    int error = kNotSupported;
    if (stream != nullptr) error = driver().allocateIn(&address, size, stream);
    isPooled = error != kNotSupported;
    return isPooled ? error : driver().allocate(&address, size);
  });
}

void Gpu::releaseIn(void *stream, std::uint64_t address, bool isPooled) const {
  const auto releaseInOrder = [&] { return driver().releaseIn(address, stream); };
  if (isPooled && within(stream, releaseInOrder) == 0) return;
  within(stream, [&] {
    driver().synchronise(stream); // whoever is in it may still use the memory
    return driver().release(address);
  });
}

void Gpu::release(std::uint64_t address) const {
  within(nullptr, [&] { return driver().release(address); });
}

int Gpu::allocatePinnedIn(const Place &place, std::int64_t bytes, void *&memory) const {
  // cuda.h: CU_MEMHOSTALLOC_PORTABLE, for all contexts; hipHostMallocPortable.
  constexpr unsigned kPortable = 1;
  return entering(place, [&](const Entered &) {
    return driver().allocatePinned(&memory, static_cast<std::size_t>(bytes), kPortable);
  });
}

int Gpu::allocatePinned(std::int64_t bytes, void *&memory) const {
  return allocatePinnedIn({}, bytes, memory);
}

std::byte *Gpu::takePinned() const {
  // Another context may end before the pool does, and takes what was made in it along.
  return pool_.take([&](void *&memory) {
    return allocatePinnedIn({.isPrimary = true}, PinnedPool::kPairBytes, memory);
  });
}

int Gpu::releasePinned(void *memory) const {
  return within(nullptr, [&] { return driver().releasePinned(memory); });
}

int Gpu::startCopyIn(std::uint64_t to, const void *from, std::int64_t bytes, void *stream) const {
  return within(
      stream, [&] { return driver().copyInBy(to, from, static_cast<std::size_t>(bytes), stream); });
}

int Gpu::startCopyOut(void *to, std::uint64_t from, std::int64_t bytes, void *stream) const {
  return within(stream, [&] {
    return driver().copyOutBy(to, from, static_cast<std::size_t>(bytes), stream);
  });
}

int Gpu::copyIn(std::uint64_t to, const void *from, std::int64_t bytes, void *stream) const {
  const int error = startCopyIn(to, from, bytes, stream);
  return error != 0 ? error : await(stream);
}

int Gpu::copyOut(void *to, std::uint64_t from, std::int64_t bytes, void *stream) const {
  const int error = startCopyOut(to, from, bytes, stream);
  return error != 0 ? error : await(stream);
}

int Gpu::copyIn(std::uint64_t to, const void *from, std::int64_t bytes) const {
  return within(nullptr,
                [&] { return driver().copyIn(to, from, static_cast<std::size_t>(bytes)); });
}

int Gpu::copyOut(void *to, std::uint64_t from, std::int64_t bytes) const {
  return within(nullptr,
                [&] { return driver().copyOut(to, from, static_cast<std::size_t>(bytes)); });
}

int Gpu::timeCopy(std::uint64_t to, std::uint64_t from, std::int64_t bytes, std::int32_t times,
                  double &milliseconds) const {
  return timeOf(times, milliseconds, [&](const Entered &) {
    return driver().copyWithin(to, from, static_cast<std::size_t>(bytes), nullptr);
  });
}

MemoryOwner Gpu::ownerOf(const void *address) const {
  // cuda.h: CU_POINTER_ATTRIBUTE_MEMORY_TYPE and _DEVICE_ORDINAL, CU_MEMORYTYPE_HOST and _DEVICE.
  // hip_runtime_api.h of ROCm 6 and 7: HIP_POINTER_ATTRIBUTE_…, hipMemoryTypeHost and …Device.
  std::array<int, 2> which{2, 9};
  constexpr unsigned kHost = 1, kDevice = 2;
  unsigned type = 0;
  MemoryOwner owner;
  std::array<void *, 2> values{&type, &owner.number};
  const int error = within(nullptr, [&] {
    return driver().pointerFacts(which.size(), which.data(), values.data(),
                                 reinterpret_cast<std::uintptr_t>(address));
  });
  // Of memory that it does not know the driver gives an error, or nothing.
  owner.isDevice = error == 0 && type == kDevice;
  owner.isPinned = error == 0 && type == kHost;
  return owner;
}

} // namespace imbrex::driver
