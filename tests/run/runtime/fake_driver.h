#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// What a fake driver is told and what it has seen. The driver is a library that is opened as a
/// real one is; the test, in the same process, finds this by the library's function `fakeState`.
namespace imbrex::fake {

/// A launch as it reaches the driver.
struct SeenLaunch {
  std::string image = {}; ///< What the kernel's module was loaded from.
  std::string kernel = {};
  std::array<unsigned, 3> grid;
  unsigned threads;
  unsigned sharedBytes;
  std::vector<std::byte> arguments = {};
  void **each = nullptr;  ///< Where each argument is, if not all in the bytes.
  void *stream = nullptr; ///< That it was put into.
  std::array<unsigned, 3> cluster{1, 1, 1};
  bool isCooperative = false, isProgrammatic = false;
  bool isPlain = true; ///< By the call that knows of no attributes.
};

/// What a fake of CUDA's driver makes of a view for the engine that loads boxes: all that it was
/// told, in the bytes that the kernel is passed.
struct SeenMap {
  std::uint64_t address = 0;
  std::array<std::uint64_t, 4> strides{}; ///< In bytes, of all axes but the first.
  std::array<std::uint32_t, 5> extents{}, box{};
  std::int32_t element = 0, rank = 0, swizzle = 0, fill = 0;
  friend bool operator==(const SeenMap &, const SeenMap &) = default;
};
static_assert(sizeof(SeenMap) <= 128);

/// A copy from or to pinned memory, which its stream has not come to yet.
struct PendingCopy {
  void *stream;
  void *to;
  const void *from;
  std::size_t bytes;
  std::int64_t number; ///< Of all such copies.
};

/// What each thread has of its own.
struct ThreadState {
  int current = 0;           ///< HIP: the device. CUDA: how many contexts are pushed.
  std::vector<int> contexts; ///< CUDA: those. A device's primary one has its number.
};

/// CUDA: one that the program has made.
struct OtherContext {
  int device = 0;
  std::uint64_t id = 0;
};

/// One thread at a time is in the driver.
struct State {
  int devices = 1;
  std::string isa = "sm_90";       ///< What the driver calls its devices,
  std::map<int, std::string> isas; ///< but for these.
  const std::string &isaOf(int number) const {
    const auto own = isas.find(number);
    return own != isas.end() ? own->second : isa;
  }
  bool takesImages = true;   ///< Else it is too old for them.
  bool knowsBoxes = true;    ///< Set by the test to what the library has been compiled to.
  bool isQuiet = false;      ///< Notes nothing and runs nothing: for what a launch costs.
  bool hasPools = true;      ///< Else there is no memory in the order of a stream.
  unsigned mostAtOnce = 264; ///< Blocks that the device runs at once.

  std::string failing; ///< A member of driver.def: behind `passing` calls, `failures` give `error`.
  int passing = 0, failures = 1;
  int error = 0;
  bool isBroken = false; ///< Every call gives `error`, as of a device that has broken down.

  std::vector<std::string> calls;              ///< Members of driver.def, in order.
  int mostCurrent = 0;                         ///< The largest that `current` was at a call.
  std::set<void *> modules;                    ///< Loaded and not unloaded.
  std::map<std::uint64_t, std::size_t> memory; ///< Allocations and their bytes.
  std::map<std::uint64_t, int> owners;         ///< Of the allocations: the device's number.
  std::map<std::thread::id, ThreadState> threads;
  ThreadState &here() { return threads[std::this_thread::get_id()]; }

  std::set<void *> streams;                    ///< Made and not destroyed.
  std::map<std::uint64_t, std::size_t> pinned; ///< Of the host's memory, and its bytes.
  /// Copies from and to it, oldest first. Each is done when somebody may know that it is, and not
  /// before: at a wait, or something behind it in its stream.
  std::vector<PendingCopy> pending;
  std::int64_t copiesOfPinned = 0;       ///< That there have been.
  std::size_t bytesIn = 0, bytesOut = 0; ///< Of all copies from and to the host.
  std::map<int, OtherContext> otherContexts;
  void (*destroyContext)(int) = nullptr; ///< With what was loaded there.
  /// The contexts that streams, modules, events and memory were made in. HIP's are all in 0.
  std::map<const void *, int> contextOf;
  int contextHere() { return here().contexts.empty() ? 0 : here().contexts.back(); }
  int deviceOf(int context) const {
    const auto other = otherContexts.find(context);
    return other != otherContexts.end() ? other->second.device : context;
  }
  void *captured = nullptr; ///< A stream for whose launches a graph is made.
  /// What each stream was told to wait for, events by their numbers of launches and copies.
  std::vector<std::pair<void *, std::int64_t>> waits;

  /// What runs a launch; gives the driver's error. By default nothing runs.
  std::function<int(const SeenLaunch &)> device = [](const SeenLaunch &) { return 0; };

  /// As if nothing had happened yet, but for what is loaded, which others may hold.
  void forget() {
    State fresh;
    fresh.modules = std::move(modules);
    fresh.memory = std::move(memory);
    fresh.owners = std::move(owners);
    fresh.streams = std::move(streams);
    fresh.pinned = std::move(pinned);
    fresh.contextOf = std::move(contextOf);
    fresh.destroyContext = destroyContext;
    *this = std::move(fresh);
  }

  /// The bytes from an address in the device's memory to the end of its allocation; 0: none is
  /// there.
  std::size_t bytesBehind(std::uint64_t address) const { return bytesBehind(memory, address); }
  /// The same of pinned memory.
  std::size_t pinnedBehind(const void *address) const {
    return bytesBehind(pinned, reinterpret_cast<std::uintptr_t>(address));
  }

private:
  static std::size_t bytesBehind(const std::map<std::uint64_t, std::size_t> &all,
                                 std::uint64_t address) {
    auto next = all.upper_bound(address);
    if (next == all.begin()) return 0;
    const auto &[begin, bytes] = *--next;
    return address < begin + bytes ? begin + bytes - address : 0;
  }
};

} // namespace imbrex::fake
