// A driver of a GPU that the test plays: memory of the device is the host's, filled with rubbish at
// first; an address from elsewhere is an error, and so is a launch from which the test's device
// comes back with one. Compiled once with each vendor's names (FAKE_SYMBOLS, FAKE_IS_CUDA).

#include "tests/run/runtime/fake_driver.h"

#include "runtime/aot/driver/cuda/launch_config.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <iterator>
#include <list>
#include <mutex>
#include <string_view>

namespace {

using imbrex::fake::SeenLaunch;
using imbrex::fake::State;

#ifndef FAKE_IS_QUIET
#define FAKE_IS_QUIET 0
#endif

std::recursive_mutex inDriver; // the test that plays the device is called from within

struct NoLock {
  explicit NoLock(std::recursive_mutex &) {}
};
using Lock = std::conditional_t<FAKE_IS_QUIET != 0, NoLock, std::lock_guard<std::recursive_mutex>>;

void destroyContext(int number);

State &state() {
  static State only = [] {
    State made;
    made.isQuiet = FAKE_IS_QUIET != 0;
    made.destroyContext = destroyContext;
    return made;
  }();
  return only;
}

constexpr int kInvalidValue = 1, kTooLarge = 720, kInvalidImage = 200, kNoContext = 201,
              kInvalidHandle = 400, kNotFound = 500, kNotSupported = 801;

struct Kernel {
  const struct Module *module;
  std::string name;
  /// That a launch may bring: all of AMD's LDS, of NVIDIA's what was asked for.
  unsigned mostSharedBytes = FAKE_IS_CUDA ? 0 : 64 * 1024;
  unsigned mostClusterBlocks = 8; ///< The same.
};
struct Module {
  std::string image;
  std::list<Kernel> kernels = {};
};

/// Where it was recorded: how many launches and copies there had been.
struct Event {
  std::int64_t done = 0;
  void *stream = nullptr;
  std::int64_t copies = 0; ///< From and to pinned memory.
};

void destroyContext(int number) {
  const Lock lock(inDriver);
  state().otherContexts.erase(number);
  std::erase_if(state().modules, [&](void *module) {
    const bool isThere = state().contextOf[module] == number;
    if (isThere) delete static_cast<Module *>(module);
    return isThere;
  });
  std::erase_if(state().pinned, [&](const auto &memory) {
    return state().contextOf[reinterpret_cast<const void *>(memory.first)] == number;
  });
}

/// Of CUDA's driver: whether a function does its work in the context that is current.
bool needsContext(std::string_view member) {
  constexpr std::array<std::string_view, 6> kNeedNone{
      "init", "deviceCount", "deviceName", "primaryContext", "releaseContext", "pushContext"};
  return FAKE_IS_CUDA && std::ranges::find(kNeedNone, member) == kNeedNone.end();
}

/// Notes a call; the error that it is to give instead of doing its work.
int enter(const char *member) {
  State &fake = state();
  if (fake.isQuiet) return 0;
  fake.calls.emplace_back(member);
  fake.mostCurrent = std::max(fake.mostCurrent, fake.here().current);
  if (fake.here().current == 0 && needsContext(member)) return kNoContext;
  if (fake.isBroken) return fake.error;
  if (fake.failing != member) return 0;
  if (fake.passing > 0) return --fake.passing, 0;
  if (--fake.failures > 0) return fake.error;
  fake.failing.clear();
  fake.failures = 1;
  return fake.error;
}

/// The end of whatever stands last in an ELF file.
std::size_t sizeOfElf(const char *image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  std::size_t end = std::max<std::size_t>(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr),
                                          header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr));
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS) end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

bool isReachable(std::uint64_t address, std::size_t bytes) {
  return state().bytesBehind(address) >= bytes && bytes > 0;
}

/// Of whichever context is current; CUDA's have numbers, too (cuda.h: CU_STREAM_LEGACY, …).
bool isDefault(void *stream) {
  return reinterpret_cast<std::uintptr_t>(stream) <= (FAKE_IS_CUDA ? 2 : 0);
}
bool isStream(void *stream) { return isDefault(stream) || state().streams.contains(stream); }

/// Whether what was made in some context may be used in the one that is current.
bool isOfHere(const void *made) { return state().contextOf[made] == state().contextHere(); }
bool isStreamOfHere(void *stream) {
  return isDefault(stream) || (isStream(stream) && isOfHere(stream));
}

constexpr int kRubbish = 0xcd;

int allocate(std::uint64_t *address, std::size_t bytes) {
  constexpr std::size_t kUnit = 256;
  void *memory = std::aligned_alloc(kUnit, (bytes + kUnit - 1) / kUnit * kUnit);
  std::memset(memory, kRubbish, bytes);
  *address = reinterpret_cast<std::uintptr_t>(memory);
  state().memory[*address] = bytes;
  state().contextOf[memory] = state().contextHere();
  state().owners[*address] =
      FAKE_IS_CUDA ? state().deviceOf(state().contextHere()) : state().here().current;
  return 0;
}

/// Whether what is in the one stream comes behind what was put into the other before.
bool areOrdered(void *first, void *second) {
  return first == second || isDefault(first) || isDefault(second);
}

/// Do what is pending and known to be done when a stream has come to the copy of this number.
void deliver(void *stream, std::int64_t number = INT64_MAX) {
  std::erase_if(state().pending, [&](const imbrex::fake::PendingCopy &copy) {
    if (!areOrdered(copy.stream, stream) || copy.number > number) return false;
    std::memcpy(copy.to, copy.from, copy.bytes);
    return true;
  });
}

/// A copy in a stream: of plain memory at once, which drivers may do, of pinned memory later.
int startCopy(void *to, const void *from, const void *ofHost, std::size_t bytes, void *stream) {
  (ofHost == from ? state().bytesIn : state().bytesOut) += bytes;
  const std::int64_t number = ++state().copiesOfPinned;
  state().pending.push_back({stream, to, from, bytes, number});
  if (state().pinnedBehind(ofHost) < bytes) deliver(stream);
  return 0;
}

int copyIn(std::uint64_t to, const void *from, std::size_t bytes) {
  if (!isReachable(to, bytes)) return kInvalidValue;
  deliver(nullptr);
  state().bytesIn += bytes;
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}

int copyOut(void *to, std::uint64_t from, std::size_t bytes) {
  if (!isReachable(from, bytes)) return kInvalidValue;
  deliver(nullptr);
  state().bytesOut += bytes;
  std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
  return 0;
}

/// Where a launch finds its arguments: in a buffer, or each.
bool areArguments(void **parameters, void **extra) {
  constexpr std::uintptr_t kBuffer = 1, kSize = 2, kEnd = FAKE_IS_CUDA ? 0 : 3;
  if (parameters != nullptr) return extra == nullptr;
  return extra == nullptr || (extra[0] == reinterpret_cast<void *>(kBuffer) &&
                              extra[2] == reinterpret_cast<void *>(kSize) &&
                              extra[4] == reinterpret_cast<void *>(kEnd));
}

SeenLaunch askedFor(const std::array<unsigned, 3> &grid, unsigned threads, unsigned sharedBytes,
                    void *stream, void **each) {
  return {
      .grid = grid, .threads = threads, .sharedBytes = sharedBytes, .each = each, .stream = stream};
}

int launch(const Kernel &of, SeenLaunch seen, void **extra) {
  if (!isStreamOfHere(seen.stream) || !isOfHere(of.module)) return kInvalidHandle;
  deliver(seen.stream);
  unsigned blocks = 1, clusterBlocks = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    blocks *= seen.grid[axis];
    clusterBlocks *= seen.cluster[axis];
    if (seen.cluster[axis] == 0 || seen.grid[axis] % seen.cluster[axis] != 0) return kInvalidValue;
  }
  if (!areArguments(seen.each, extra) || blocks == 0 || seen.sharedBytes > of.mostSharedBytes ||
      clusterBlocks > of.mostClusterBlocks)
    return kInvalidValue;
  if (seen.isCooperative && blocks > state().mostAtOnce) return kTooLarge;
  seen.image = of.module->image;
  seen.kernel = of.name;
  if (extra != nullptr) {
    const auto *first = static_cast<const std::byte *>(extra[1]);
    seen.arguments.assign(first, first + *static_cast<std::size_t *>(extra[3]));
  }
  return state().device(seen);
}

int release(std::uint64_t address) {
  deliver(nullptr);
  if (state().memory.erase(address) == 0) return kInvalidValue;
  std::free(reinterpret_cast<void *>(address));
  return 0;
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) State *fakeState() { return &state(); }

int fake_init(unsigned) {
  const Lock lock(inDriver);
  return enter("init");
}

int fake_deviceCount(int *count) {
  const Lock lock(inDriver);
  *count = state().devices;
  return enter("deviceCount");
}

int fake_deviceName(char *name, int room, int) {
  const Lock lock(inDriver);
  std::strncpy(name, "Fake", static_cast<std::size_t>(room));
  return enter("deviceName");
}

int fake_errorName(int error, const char **name) {
  const Lock lock(inDriver);
  *name = error == kInvalidValue ? "FAKE_INVALID_VALUE" : nullptr;
  return *name == nullptr ? kInvalidValue : 0;
}

int fake_errorText(int error, const char **text) {
  const Lock lock(inDriver);
  *text = error == kInvalidValue ? "invalid argument" : nullptr;
  return *text == nullptr ? kInvalidValue : 0;
}

int fake_loadModule(void **module, const void *image, unsigned options, int *keys, void **values) {
  const Lock lock(inDriver);
  constexpr int kErrorLog = 5, kErrorLogSize = 6; // cuda.h: CU_JIT_ERROR_LOG_BUFFER
  if (const int error = enter("loadModule"); error != 0) return error;
  const char *bytes = static_cast<const char *>(image);
  const bool isElf = std::memcmp(bytes, "\177ELF", 4) == 0;
  if (isElf ? !state().takesImages : std::strstr(bytes, ".version") == nullptr) {
    if (options == 2 && keys[0] == kErrorLog && keys[1] == kErrorLogSize)
      std::strncpy(static_cast<char *>(values[0]), "the log of the fake",
                   reinterpret_cast<std::size_t>(values[1]));
    return kInvalidImage;
  }
  auto *made = new Module{.image = isElf ? std::string(bytes, sizeOfElf(bytes)) : bytes};
  state().modules.insert(made);
  state().contextOf[made] = state().contextHere();
  *module = made;
  return 0;
}

int fake_unloadModule(void *module) {
  const Lock lock(inDriver);
  if (const int error = enter("unloadModule"); error != 0) return error;
  if (state().modules.erase(module) == 0) return kInvalidValue;
  delete static_cast<Module *>(module);
  return 0;
}

int fake_findKernel(void **kernel, void *module, const char *name) {
  const Lock lock(inDriver);
  if (const int error = enter("findKernel"); error != 0) return error;
  auto *in = static_cast<Module *>(module);
  if (in->image.find(name) == std::string::npos) return kNotFound;
  *kernel = &in->kernels.emplace_back(Kernel{.module = in, .name = name});
  return 0;
}

int fake_launch(void *kernel, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                unsigned blockY, unsigned blockZ, unsigned sharedBytes, void *stream,
                void **parameters, void **extra) {
  const Lock lock(inDriver);
  if (const int error = enter("launch"); error != 0 || state().isQuiet) return error;
  if (blockY != 1 || blockZ != 1 || (parameters == nullptr && extra == nullptr))
    return kInvalidValue;
  return launch(*static_cast<Kernel *>(kernel),
                askedFor({gridX, gridY, gridZ}, blockX, sharedBytes, stream, parameters), extra);
}

int fake_synchronise(void *stream) {
  const Lock lock(inDriver);
  constexpr int kCaptured = 900; // cuda.h: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
  if (const int error = enter("synchronise"); error != 0) return error;
  if (stream != nullptr && stream == state().captured) return kCaptured;
  if (!isStream(stream)) return kInvalidHandle;
  deliver(stream);
  return 0;
}

int fake_allocate(std::uint64_t *address, std::size_t bytes) {
  const Lock lock(inDriver);
  if (const int error = enter("allocate"); error != 0) return error;
  return allocate(address, bytes);
}

int fake_release(std::uint64_t address) {
  const Lock lock(inDriver);
  if (const int error = enter("release"); error != 0) return error;
  return release(address);
}

int fake_allocateIn(std::uint64_t *address, std::size_t bytes, void *stream) {
  const Lock lock(inDriver);
  if (const int error = enter("allocateIn"); error != 0) return error;
  if (!state().hasPools) return kNotSupported;
  return isStreamOfHere(stream) ? allocate(address, bytes) : kInvalidHandle;
}

int fake_releaseIn(std::uint64_t address, void *stream) {
  const Lock lock(inDriver);
  if (const int error = enter("releaseIn"); error != 0) return error;
  return isStream(stream) ? release(address) : kInvalidHandle;
}

int fake_copyIn(std::uint64_t to, const void *from, std::size_t bytes) {
  const Lock lock(inDriver);
  const int error = enter("copyIn");
  return error != 0 ? error : copyIn(to, from, bytes);
}

int fake_copyOut(void *to, std::uint64_t from, std::size_t bytes) {
  const Lock lock(inDriver);
  const int error = enter("copyOut");
  return error != 0 ? error : copyOut(to, from, bytes);
}

int fake_copyWithin(std::uint64_t to, std::uint64_t from, std::size_t bytes, void *stream) {
  const Lock lock(inDriver);
  if (const int error = enter("copyWithin"); error != 0) return error;
  if (!isReachable(to, bytes) || !isReachable(from, bytes)) return kInvalidValue;
  deliver(stream);
  std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
  return 0;
}

int fake_copyInBy(std::uint64_t to, const void *from, std::size_t bytes, void *stream) {
  const Lock lock(inDriver);
  if (const int error = enter("copyInBy"); error != 0) return error;
  if (!isStreamOfHere(stream)) return kInvalidHandle;
  if (!isReachable(to, bytes)) return kInvalidValue;
  return startCopy(reinterpret_cast<void *>(to), from, from, bytes, stream);
}

int fake_copyOutBy(void *to, std::uint64_t from, std::size_t bytes, void *stream) {
  const Lock lock(inDriver);
  if (const int error = enter("copyOutBy"); error != 0) return error;
  if (!isStreamOfHere(stream)) return kInvalidHandle;
  if (!isReachable(from, bytes)) return kInvalidValue;
  return startCopy(to, reinterpret_cast<const void *>(from), to, bytes, stream);
}

int fake_allocatePinned(void **memory, std::size_t bytes, unsigned flags) {
  const Lock lock(inDriver);
  constexpr unsigned kPortable = 1; // cuda.h: CU_MEMHOSTALLOC_PORTABLE
  if (const int error = enter("allocatePinned"); error != 0) return error;
  if (flags != kPortable) return kInvalidValue;
  *memory = std::malloc(bytes);
  std::memset(*memory, kRubbish, bytes);
  state().pinned[reinterpret_cast<std::uintptr_t>(*memory)] = bytes;
  state().contextOf[*memory] = state().contextHere();
  return 0;
}
int fake_releasePinned(void *memory) {
  const Lock lock(inDriver);
  if (const int error = enter("releasePinned"); error != 0) return error;
  if (state().pinned.erase(reinterpret_cast<std::uintptr_t>(memory)) == 0) return kInvalidValue;
  deliver(nullptr);
  std::free(memory);
  return 0;
}

int fake_pointerFacts(unsigned count, int *which, void **values, std::uint64_t address) {
  const Lock lock(inDriver);
  constexpr int kMemoryType = 2, kOrdinal = 9; // cuda.h: CU_POINTER_ATTRIBUTE_…
  constexpr int kHost = 1, kDevice = 2;
  if (const int error = enter("pointerFacts"); error != 0) return error;
  const bool isOwn = state().bytesBehind(address) > 0;
  const bool isPinned = state().pinnedBehind(reinterpret_cast<const void *>(address)) > 0;
  const bool isKnown = isOwn || isPinned;
  // CUDA's gives zeros for memory that it does not know, HIP's an error.
  if (!isKnown && !FAKE_IS_CUDA) return kInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    if (which[i] != kMemoryType && which[i] != kOrdinal) return kInvalidValue;
    const int owner = isOwn ? std::prev(state().owners.upper_bound(address))->second : -2;
    const int type = isOwn ? kDevice : isPinned ? kHost : 0;
    const int value = which[i] == kMemoryType ? type : owner;
    std::memcpy(values[i], &value, sizeof value);
  }
  return 0;
}

int fake_makeStream(void **stream, unsigned) {
  const Lock lock(inDriver);
  if (const int error = enter("makeStream"); error != 0) return error;
  *stream = new char;
  state().streams.insert(*stream);
  state().contextOf[*stream] = state().contextHere();
  return 0;
}
int fake_destroyStream(void *stream) {
  const Lock lock(inDriver);
  if (const int error = enter("destroyStream"); error != 0) return error;
  deliver(stream);
  if (state().streams.erase(stream) == 0) return kInvalidHandle;
  delete static_cast<char *>(stream);
  return 0;
}
int fake_streamAwaits(void *stream, void *event, unsigned) {
  const Lock lock(inDriver);
  if (const int error = enter("streamAwaits"); error != 0) return error;
  if (!isStream(stream)) return kInvalidHandle;
  const auto &awaited = *static_cast<Event *>(event);
  deliver(awaited.stream, awaited.copies);
  state().waits.emplace_back(stream, awaited.done);
  return 0;
}
int fake_isCapturing(void *stream, int *status) {
  const Lock lock(inDriver);
  if (const int error = enter("isCapturing"); error != 0) return error;
  *status = stream != nullptr && stream == state().captured ? 1 : 0;
  return 0;
}

// Each launch and copy takes 1 ms of the time that events tell.
int fake_makeEvent(void **event, unsigned) {
  const Lock lock(inDriver);
  if (const int error = enter("makeEvent"); error != 0) return error;
  *event = new Event;
  state().contextOf[*event] = state().contextHere();
  return 0;
}
int fake_destroyEvent(void *event) {
  const Lock lock(inDriver);
  delete static_cast<Event *>(event);
  return enter("destroyEvent");
}
int fake_recordEvent(void *event, void *stream) {
  const Lock lock(inDriver);
  if (!isStreamOfHere(stream) || !isOfHere(event)) return kInvalidHandle;
  if (const int error = enter("recordEvent"); error != 0) return error;
  const auto done = std::ranges::count_if(state().calls, [](const std::string &call) {
    return call.starts_with("launch") || call == "copyWithin";
  });
  *static_cast<Event *>(event) = {.done = done, .stream = stream, .copies = state().copiesOfPinned};
  return 0;
}
int fake_awaitEvent(void *event) {
  const Lock lock(inDriver);
  if (const int error = enter("awaitEvent"); error != 0) return error;
  const auto &awaited = *static_cast<Event *>(event);
  deliver(awaited.stream, awaited.copies);
  return 0;
}
int fake_timeBetween(float *milliseconds, void *first, void *last) {
  const Lock lock(inDriver);
  *milliseconds =
      static_cast<float>(static_cast<Event *>(last)->done - static_cast<Event *>(first)->done);
  return enter("timeBetween");
}

// The vendor's names for all of these.
#define IMBREX_SYMBOL(member, symbol)                                                              \
  __attribute__((visibility("default"), alias("fake_" #member))) decltype(fake_##member) symbol;
#include FAKE_SYMBOLS

#if FAKE_IS_CUDA
#if FAKE_KNOWS_BOXES
__attribute__((visibility("default"))) int
cuTensorMapEncodeTiled(void *map, int element, std::uint32_t rank, void *address,
                       const std::uint64_t *extents, const std::uint64_t *strides,
                       const std::uint32_t *box, const std::uint32_t *steps, int interleave,
                       int swizzle, int, int fill) {
  const Lock lock(inDriver);
  if (const int error = enter("describeTensor"); error != 0) return error;
  const bool isAligned = reinterpret_cast<std::uintptr_t>(map) % 64 == 0;
  if (!isAligned || rank < 1 || rank > 5 || interleave != 0) return kInvalidValue;
  imbrex::fake::SeenMap seen;
  seen.address = reinterpret_cast<std::uintptr_t>(address);
  seen.element = element;
  seen.rank = static_cast<std::int32_t>(rank);
  seen.swizzle = swizzle;
  seen.fill = fill;
  for (std::uint32_t axis = 0; axis < rank; ++axis) {
    if (steps[axis] != 1 || extents[axis] == 0 || extents[axis] > 0xffffffff) return kInvalidValue;
    seen.extents[axis] = static_cast<std::uint32_t>(extents[axis]);
    seen.box[axis] = box[axis];
    if (axis == 0) continue;
    if (strides[axis - 1] % 16 != 0) return kInvalidValue;
    seen.strides[axis - 1] = strides[axis - 1];
  }
  if (!isReachable(seen.address, 1) || seen.address % 16 != 0) return kInvalidValue;
  std::memset(map, 0, 128);
  std::memcpy(map, &seen, sizeof seen);
  return 0;
}
#endif
__attribute__((visibility("default"))) int cuDeviceGetAttribute(int *value, int which, int device) {
  const Lock lock(inDriver);
  constexpr int kMajor = 75, kMinor = 76; // cuda.h: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  const int capability = std::atoi(state().isaOf(device).c_str() + std::strlen("sm_"));
  *value = which == kMajor ? capability / 10 : which == kMinor ? capability % 10 : -1;
  return 0;
}
__attribute__((visibility("default"))) int cuDevicePrimaryCtxRetain(void **context, int device) {
  const Lock lock(inDriver);
  *context = &state().devices + device;
  return enter("primaryContext");
}
__attribute__((visibility("default"))) int cuDevicePrimaryCtxRelease_v2(int) {
  const Lock lock(inDriver);
  return enter("releaseContext");
}
__attribute__((visibility("default"))) int cuCtxGetCurrent(void **context) {
  const Lock lock(inDriver);
  *context =
      state().here().current > 0 ? &state().devices + state().here().contexts.back() : nullptr;
  return 0;
}
__attribute__((visibility("default"))) int cuCtxGetDevice(int *device) {
  const Lock lock(inDriver);
  if (state().here().contexts.empty()) return kNoContext;
  *device = state().deviceOf(state().contextHere());
  return enter("contextDevice");
}
__attribute__((visibility("default"))) int cuStreamGetCtx(void *stream, void **context) {
  const Lock lock(inDriver);
  if (!isStream(stream)) return kInvalidHandle;
  *context =
      &state().devices + (isDefault(stream) ? state().contextHere() : state().contextOf[stream]);
  return enter("streamContext");
}
#if FAKE_KNOWS_BOXES
__attribute__((visibility("default"))) int
cuLaunchKernelEx(const imbrex::driver::cuda_launch::Config *config, void *kernel, void **parameters,
                 void **extra) {
  using Id = imbrex::driver::cuda_launch::AttributeId;
  const Lock lock(inDriver);
  if (const int error = enter("launchWith"); error != 0 || state().isQuiet) return error;
  if (config->blockY != 1 || config->blockZ != 1) return kInvalidValue;
  SeenLaunch asked = askedFor({config->gridX, config->gridY, config->gridZ}, config->blockX,
                              config->sharedBytes, config->stream, parameters);
  asked.isPlain = false;
  for (unsigned i = 0; i < config->attributeCount; ++i) {
    const auto &[id, unused, value] = config->attributes[i];
    switch (id) {
    case Id::Ignore: break;
    case Id::Cooperative: asked.isCooperative = value[0] != 0; break;
    case Id::Programmatic: asked.isProgrammatic = value[0] != 0; break;
    case Id::Cluster: std::copy_n(value, 3, asked.cluster.begin()); break;
    }
  }
  return launch(*static_cast<Kernel *>(kernel), asked, extra);
}
__attribute__((visibility("default"))) int cuCtxGetId(void *context, unsigned long long *id) {
  const Lock lock(inDriver);
  const auto number = static_cast<int>(static_cast<int *>(context) - &state().devices);
  const auto other = state().otherContexts.find(number);
  *id = other != state().otherContexts.end() ? other->second.id : 0;
  return enter("contextId");
}
#endif
__attribute__((visibility("default"))) int cuCtxPushCurrent_v2(void *context) {
  const Lock lock(inDriver);
  if (context == nullptr) return kInvalidValue;
  ++state().here().current;
  state().here().contexts.push_back(
      static_cast<int>(static_cast<int *>(context) - &state().devices));
  return enter("pushContext");
}
__attribute__((visibility("default"))) int cuCtxPopCurrent_v2(void **context) {
  const Lock lock(inDriver);
  if (state().here().contexts.empty()) return kInvalidValue;
  *context = &state().devices + state().here().contexts.back();
  state().here().contexts.pop_back();
  --state().here().current;
  return 0;
}
__attribute__((visibility("default"))) int cuFuncSetAttribute(void *kernel, int which, int value) {
  const Lock lock(inDriver);
  constexpr int kMostDynamicBytes = 8; // cuda.h: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  constexpr int kLargerClusters = 14;  // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
  constexpr unsigned kMostClusterBlocks = 16;
  if (const int error = enter("setKernelFact"); error != 0) return error;
  auto &of = *static_cast<Kernel *>(kernel);
  if (which == kLargerClusters && value == 1) return of.mostClusterBlocks = kMostClusterBlocks, 0;
  if (which != kMostDynamicBytes || value < 0) return kInvalidValue;
  of.mostSharedBytes = static_cast<unsigned>(value);
  return 0;
}
#else
#if FAKE_KNOWS_BOXES
__attribute__((visibility("default"))) int
hipModuleLaunchCooperativeKernel(void *kernel, unsigned gridX, unsigned gridY, unsigned gridZ,
                                 unsigned blockX, unsigned blockY, unsigned blockZ,
                                 unsigned sharedBytes, void *stream, void **parameters) {
  const Lock lock(inDriver);
  if (const int error = enter("launchCooperative"); error != 0 || state().isQuiet) return error;
  if (blockY != 1 || blockZ != 1 || parameters == nullptr) return kInvalidValue;
  SeenLaunch asked = askedFor({gridX, gridY, gridZ}, blockX, sharedBytes, stream, parameters);
  asked.isCooperative = true;
  asked.isPlain = false;
  return launch(*static_cast<Kernel *>(kernel), asked, nullptr);
}
#endif
__attribute__((visibility("default"))) int hipGetDevicePropertiesR0600(void *properties,
                                                                       int device) {
  const Lock lock(inDriver);
  constexpr std::size_t kName = 1160; // hip_runtime_api.h: hipDeviceProp_tR0600, gcnArchName
  std::strcpy(static_cast<char *>(properties) + kName, state().isaOf(device).c_str());
  return enter("properties");
}
__attribute__((visibility("default"))) int hipGetDevice(int *device) {
  const Lock lock(inDriver);
  *device = state().here().current;
  return 0;
}
__attribute__((visibility("default"))) int hipSetDevice(int device) {
  const Lock lock(inDriver);
  if (device >= state().devices) return kInvalidValue;
  state().here().current = device;
  return enter("useDevice");
}
#endif

} // extern "C"
