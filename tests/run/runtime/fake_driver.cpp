// A driver of a GPU that the test plays (fake_machine.h): the functions that both vendors have.
// Compiled once with each one's names (FAKE_SYMBOLS, FAKE_IS_CUDA).

#include "tests/run/runtime/fake_machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <iterator>

using namespace imbrex::fake;

namespace {

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

} // extern "C"
