#pragma once

#include "backend/emulate/model/agents.h"
#include "backend/emulate/model/run_report.h"
#include "backend/emulate/model/site.h"
#include "backend/emulate/model/thread_block.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace imbrex::emulate {

/// Where shared memory begins, as a number: every block's is there. Below lies nothing, so that a
/// null pointer can't be mistaken; and no process of a 64-bit system has its own data here.
inline constexpr std::uint64_t kSharedBase = 0x10000;

/// Of an address in it, which may have been computed in 32 bits.
constexpr std::uint64_t offsetOf(std::uint64_t address) {
  return (address & 0xffffffff) - kSharedBase;
}

/// Bytes of global memory that a kernel may touch.
struct GlobalRegion {
  std::string name; ///< For people: `'x'`.
  std::uint64_t begin = 0;
  std::int64_t bytes = 0; ///< ir::Argument::kUnknownSize: nobody knows.
  std::uint8_t *unwritten = nullptr;
  std::int32_t parameter = -1; ///< Of the LLVM function; -1: reached in another way.
  bool isConstant = false;
  std::uint16_t mark = 0; ///< Of a pointer's target in a table; 0: none.

  bool holds(std::uint64_t address, std::uint64_t count) const;
};

/// The pointers of tables are marked with a number above the address, as an access through one must
/// stay in what it leads to, and only the run knows which one it is. No process has its data there.
inline constexpr unsigned kMarkShift = 48;
constexpr std::uint64_t marked(std::uint64_t address, std::uint16_t mark) {
  return address | std::uint64_t{mark} << kMarkShift;
}

/// Who touches memory, and from which place of the code: a thread, or a copy that it has issued.
struct Accessor {
  Thread &thread;
  std::uint32_t site;
  const AccessSite &facts;
  ThreadId id; ///< Of the thread, or of the queue in which the copy is.
  Tick tick;
  bool isOtherProxy = false; ///< Not that of plain loads and stores.
  bool isInOrder = false; ///< Of a queue: its copies write in the order in which they were issued.
};

/// The memory that the threads of a run see, every access checked.
class Memory {
public:
  Memory(std::vector<GlobalRegion> regions, std::uint32_t warpSize, const Agents &agents,
         RunReport &report)
      : regions_(std::move(regions)), warpSize_(warpSize), agents_(agents), report_(report) {
    for (const GlobalRegion &region : regions_)
      if (region.mark != 0) marks_[region.mark] = &region;
  }

  /// The host's address of what an access touches; null after an error that ends the run. An error
  /// that does not is reported and the access goes on: a race, a byte that nobody has written.
  std::byte *access(Thread &thread, std::uint64_t address, std::uint32_t site);
  std::byte *access(const Accessor &who, std::uint64_t address);
  /// The same for an access to the variable that begins at `variable`.
  std::byte *accessPrivate(Thread &thread, std::byte *variable, std::byte *address,
                           std::uint32_t site);
  /// The writing half of a compare-and-exchange that has exchanged.
  void didCompareExchange(Thread &thread, std::uint64_t address, std::uint32_t site);

  bool isShared(const Thread &thread, std::uint64_t address) const;
  ClockJoiner &joiner() { return join_; }

private:
  std::byte *accessShared(const Accessor &who, std::uint64_t address);
  bool touchesBarrier(const Accessor &who, std::uint64_t offset);
  std::byte *accessGlobal(const Accessor &who, std::uint64_t address, const GlobalRegion *target);
  /// The region that a marked address must stay in, and the address without the mark.
  const GlobalRegion *takeMark(std::uint64_t &address) const;
  const GlobalRegion *regionOf(std::uint64_t address, const AccessSite &facts) const;
  const GlobalRegion *nearest(std::uint64_t address) const;
  void reportOutside(const Accessor &who, std::uint64_t address, const GlobalRegion *region);
  void checkWritten(const Accessor &who, std::uint64_t address, const GlobalRegion &region);
  void touch(Shadow &shadow, const Accessor &who, std::uint64_t address, std::string_view what);
  void checkRaces(Shadow &shadow, const Accessor &who, std::uint64_t address,
                  std::string_view what);
  void reportConflict(const Accessor &who, const Conflict &conflict, std::string_view what);

  std::vector<GlobalRegion> regions_;
  std::unordered_map<std::uint64_t, const GlobalRegion *> marks_;
  std::uint32_t warpSize_;
  const Agents &agents_;
  RunReport &report_;
  Shadow shadow_;
  AtomicOrder atomics_;
  ClockJoiner join_;
};

} // namespace imbrex::emulate
