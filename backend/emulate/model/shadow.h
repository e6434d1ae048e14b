#pragma once

#include "backend/emulate/model/clock.h"

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

/// What memory remembers of its accesses, to find pairs that nothing orders.
namespace imbrex::emulate {

enum class AccessMode : std::uint8_t {
  Read,
  Write,
  AtomicRead,
  AtomicWrite, ///< Also one that reads and writes.
};
constexpr bool isAtomic(AccessMode m) {
  return m == AccessMode::AtomicRead || m == AccessMode::AtomicWrite;
}
constexpr bool writes(AccessMode m) {
  return m == AccessMode::Write || m == AccessMode::AtomicWrite;
}

/// Which threads an atomic, a fence or a barrier orders memory for, narrowest first.
enum class MemoryScope : std::uint8_t { Thread, Warp, Block, Device };

/// The thread that touches memory, or the queue of one (agents.h).
struct AccessAgent {
  ThreadId id;
  Tick tick;
  std::uint32_t warpSize;
  const Clock *seen;
  const ThreadId *issuer = nullptr; ///< Of a queue: what it has seen, and all that it has done.
  /// Of another proxy: so many numbers act in the generic one, and how far fences have made their
  /// writes visible is under numbers as far behind. 0: it is the generic proxy.
  std::uint32_t generic = 0;
  bool isInOrder = false; ///< Of a queue: what it touches, it touches in the order of its ticks.

  /// Whether an earlier touch is known to be over.
  bool knows(ThreadId other, Tick at) const {
    if (isInOrder && other == id) return true;
    return other == (issuer != nullptr ? *issuer : id) || seen->seen(other) >= at;
  }
  /// Whether an earlier write, which is known to be over, can be seen.
  bool canSee(ThreadId other, Tick at) const {
    return other.thread >= generic || seen->seen({other.block, other.thread + generic}) >= at;
  }
};

struct ShadowAccess {
  std::uint64_t address;
  std::uint32_t bytes;
  std::uint32_t site;
  AccessMode mode;
  MemoryScope scope = MemoryScope::Device; ///< Of an atomic.
  /// 0: none. Of several lanes that store to one place in one statement, one wins, which is no
  /// race.
  std::uint32_t statement = 0;
};

/// The earlier access of a pair that nothing orders.
struct Conflict {
  ThreadId id;
  std::uint32_t site;
  std::uint64_t address; ///< Of the first byte that both touch.
  bool wrote;
  bool lacksFence = false; ///< They are ordered, but not for the proxy.
};

/// Happens-before race detection after FastTrack (Flanagan and Freund, PLDI 2009), for threads that
/// come in warps.
///
/// A cell stands for a word of 4 bytes, or, once an access has touched only part of the word, for
/// one byte. It keeps the last plain write, and of everything else that came since (reads, atomics)
/// each thread's last access; lanes of one warp in the same tick share an entry. That is enough: an
/// access that is ordered after the last plain write is ordered after all that the write itself was
/// ordered after, and if an earlier access of a thread races with something, so does its later one.
///
/// Among accesses from other blocks only a few readers are kept (`kForeignEntries`), as rows of
/// weights are read by thousands of blocks and blocks are rarely ordered at all.
class Shadow {
public:
  std::optional<Conflict> touch(const AccessAgent &who, const ShadowAccess &touch);

private:
  static constexpr std::size_t kForeignEntries = 4;

  struct Write {
    ThreadId id;
    Tick tick = 0; ///< 0: nobody has written yet.
    std::uint32_t site = 0;
    std::uint32_t statement = 0;
  };
  /// Accesses of a warp's lanes, all in the same tick of their threads.
  struct Group {
    std::uint64_t lanes = 0;
    std::uint32_t block = 0;
    std::uint32_t warp = 0;
    Tick tick = 0;
    std::uint32_t site = 0;
    AccessMode mode = AccessMode::Read;
    MemoryScope scope = MemoryScope::Device;
  };
  struct Cell {
    Write write;
    Group first;             ///< No lanes: nothing since the write.
    std::uint32_t more = 0;  ///< Further groups, in `groups_`; 0: none.
    std::uint32_t split = 0; ///< The cells of the bytes, in `bytes_`; 0: the word is one.
  };
  static constexpr std::uint64_t kPageWords = 256;
  using Page = std::array<Cell, kPageWords>;

  Page &pageOf(std::uint64_t word);
  Cell &cellOf(std::uint64_t word);
  Cell *splitCells(Cell &word);
  std::optional<Conflict> visit(Cell &cell, const AccessAgent &who, const ShadowAccess &touch);
  std::optional<ThreadId> firstUnordered(const AccessAgent &who, const Group &group) const;
  std::optional<Conflict> conflictOf(Cell &cell, const AccessAgent &who, const ShadowAccess &touch);
  void remember(Cell &cell, const AccessAgent &who, const ShadowAccess &touch);
  void forgetGroups(Cell &cell);
  template <class Function>
  void forEachGroup(Cell &cell, Function &&function);

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t lastPageNumber_ = ~std::uint64_t{0};
  Page *lastPage_ = nullptr;
  std::deque<std::array<Cell, 4>> bytes_{1};
  std::deque<std::vector<Group>> groups_{1};
  std::vector<std::uint32_t> freeGroups_;
};

} // namespace imbrex::emulate
