#pragma once

#include "backend/emulate/model/clock.h"
#include "backend/emulate/model/shadow.h"

#include <array>
#include <unordered_map>

/// What orders the threads of a grid: fences, barriers, atomics.
///
/// The model is C++'s, which both vendors' LLVM back ends implement: what a thread has done before
/// a release fence is *published* by its next write to an atomic (or by its arrival at a barrier
/// that has no fence of its own); another thread that reads that atomic has it *pending*, and its
/// next acquire fence makes it seen. A release or an acquire on the atomic itself is both at once.
/// A fence and an atomic only order threads in their scope.
namespace imbrex::emulate {

inline constexpr std::size_t kMemoryScopes = 4;

/// What a thread publishes: all that it had seen, and itself up to a tick.
struct Publication {
  Clock seen;
  Tick tick = 0; ///< 0: nothing.
};

/// What a thread knows of the others, and the others may learn of it.
class ThreadOrder {
public:
  explicit ThreadOrder(ThreadId id) : id_(id) {}

  ThreadId id() const { return id_; }
  Tick tick() const { return tick_; }
  const Clock &seen() const { return seen_; }

  void acquireFence(MemoryScope scope, ClockJoiner &join);
  void releaseFence(MemoryScope scope);
  /// What a release fence of this scope, or a wider one, has published.
  const Publication &published(MemoryScope scope) const {
    return published_[static_cast<std::size_t>(scope)];
  }
  /// The present, published at once.
  Publication publishNow() { return {seen_, tick_++}; }

  void see(const Clock &clock, ClockJoiner &join) { seen_ = join(seen_, clock); }
  void seeAtFence(MemoryScope scope, const Clock &clock, ClockJoiner &join);
  /// All that it has seen and done becomes visible to another proxy: of so many numbers (agents.h).
  void fenceProxy(std::uint32_t generic);
  /// What its queue has done up to a tick is over.
  void seeLanded(ThreadId queue, Tick tick);
  /// The same, and those see it too who will see what fences have published.
  void publishLanded(ThreadId queue, Tick tick);

private:
  ThreadId id_;
  Tick tick_ = 1;
  Clock seen_;
  std::array<Publication, kMemoryScopes> published_;
  std::array<Clock, kMemoryScopes> pending_;
};

/// Clock of a publication by one thread.
Clock clockOf(ThreadId by, const Publication &publication);

/// What the atomics at each address have published.
class AtomicOrder {
public:
  struct Operation {
    std::uint64_t address;
    bool reads, writes, acquires, releases;
    MemoryScope scope;
  };
  /// The reading half of an atomic operation, then its writing half.
  void read(ThreadOrder &thread, const Operation &operation, ClockJoiner &join);
  void write(ThreadOrder &thread, const Operation &operation, ClockJoiner &join);

private:
  struct Publications {
    Clock device;
    std::unordered_map<std::uint32_t, Clock> byBlock;
  };
  std::unordered_map<std::uint64_t, Publications> places_;
};

} // namespace imbrex::emulate
