#include "tests/run/runtime/fake_machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace imbrex::fake {
namespace {

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

/// Whether what is in the one stream comes behind what was put into the other before.
bool areOrdered(void *first, void *second) {
  return first == second || isDefault(first) || isDefault(second);
}

/// Where a launch finds its arguments: in a buffer, or each.
bool areArguments(void **parameters, void **extra) {
  constexpr std::uintptr_t kBuffer = 1, kSize = 2, kEnd = FAKE_IS_CUDA ? 0 : 3;
  if (parameters != nullptr) return extra == nullptr;
  return extra == nullptr || (extra[0] == reinterpret_cast<void *>(kBuffer) &&
                              extra[2] == reinterpret_cast<void *>(kSize) &&
                              extra[4] == reinterpret_cast<void *>(kEnd));
}

} // namespace

std::recursive_mutex inDriver;

State &state() {
  static State only = [] {
    State made;
    made.isQuiet = FAKE_IS_QUIET != 0;
    made.destroyContext = destroyContext;
    return made;
  }();
  return only;
}

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

bool isReachable(std::uint64_t address, std::size_t bytes) {
  return state().bytesBehind(address) >= bytes && bytes > 0;
}

bool isDefault(void *stream) {
  return reinterpret_cast<std::uintptr_t>(stream) <= (FAKE_IS_CUDA ? 2 : 0);
}
bool isStream(void *stream) { return isDefault(stream) || state().streams.contains(stream); }

bool isOfHere(const void *made) { return state().contextOf[made] == state().contextHere(); }
bool isStreamOfHere(void *stream) {
  return isDefault(stream) || (isStream(stream) && isOfHere(stream));
}

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

void deliver(void *stream, std::int64_t number) {
  std::erase_if(state().pending, [&](const PendingCopy &copy) {
    if (!areOrdered(copy.stream, stream) || copy.number > number) return false;
    std::memcpy(copy.to, copy.from, copy.bytes);
    return true;
  });
}

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

} // namespace imbrex::fake
