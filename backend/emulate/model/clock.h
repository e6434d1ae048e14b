#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

/// Vector clocks: who knows of what has happened.
///
/// Every thread counts ticks; a tick ends whenever the thread publishes what it has done. An access
/// carries its thread's tick, and is ordered before another thread's access exactly when the other
/// thread has *seen* that tick: by a barrier, or by an acquire of what was released after it.
namespace imbrex::emulate {

using Tick = std::uint32_t;

/// A thread of the grid.
struct ThreadId {
  std::uint32_t block = 0;
  std::uint32_t thread = 0; ///< Of the block.

  friend bool operator==(const ThreadId &, const ThreadId &) = default;
};

/// For every thread, the last of its ticks that has been seen. A value; copies share their memory,
/// because after a barrier all threads of a block have seen the same.
class Clock {
public:
  Tick seen(ThreadId id) const {
    if (!state_) return 0;
    for (const Entry &entry : *state_)
      if (entry.block == id.block)
        return id.thread < entry.ticks->size() ? (*entry.ticks)[id.thread] : 0;
    return 0;
  }
  bool isEmpty() const { return state_ == nullptr; }
  bool isSameAs(const Clock &other) const { return state_ == other.state_; }

  /// This clock, which has also seen these ticks of a block's threads.
  Clock with(std::uint32_t block, llvm::ArrayRef<std::pair<std::uint32_t, Tick>> threadTicks) const;

  /// This clock, in which the ticks of the first numbers of each block are also those as far behind
  /// them.
  Clock withShadowOf(std::uint32_t numbers) const;

  static Clock join(const Clock &a, const Clock &b);

private:
  using Ticks = std::shared_ptr<const std::vector<Tick>>;
  struct Entry {
    std::uint32_t block;
    Ticks ticks;
  };
  static Ticks joinTicks(const Ticks &a, const Ticks &b);

  std::shared_ptr<const std::vector<Entry>> state_;
};

/// Joins and remembers the last join: the threads of a block join the same two clocks one after the
/// other.
class ClockJoiner {
public:
  Clock operator()(const Clock &a, const Clock &b) {
    if (b.isEmpty() || a.isSameAs(b)) return a;
    if (a.isEmpty()) return b;
    if (!left_.isSameAs(a) || !right_.isSameAs(b)) {
      joined_ = Clock::join(a, b);
      left_ = a;
      right_ = b;
    }
    return joined_;
  }

private:
  Clock left_, right_, joined_;
};

} // namespace imbrex::emulate
