#pragma once

#include "backend/emulate/model/clock.h"
#include "backend/emulate/model/order.h"
#include "backend/machine/machine.h"

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

/// Barriers in shared memory that count arrivals and bytes, in one phase after the other: NVIDIA's
/// mbarriers (PTX ISA 9.0, 9.7.13.15).
///
/// To clocks a barrier is one of those that act (agents.h): its tick 1 is that it has been made,
/// its tick k + 2 the end of phase k. So a thread's clock says which phases it knows to be over,
/// and two mistakes that need an unlucky order to do harm are found in every order:
///
///   early arrival  who arrives in phase k must know that phase k - 1 is over; else, had it been
///                  faster, the arrival would have counted there
///   parity         a phase ends only after every wait for the phase before has been answered; else
///                  the wait, had it been slower, would find the parity that it started with
namespace imbrex::emulate {

struct Thread;

struct PhaseBarrier {
  /// A wait that was answered, and that the end of the phase now running must come after.
  struct Answer {
    Tick tick;
    std::uint32_t site;
  };

  /// Something that came by itself to a phase of whose end nobody has learnt yet.
  struct UnobservedArrival {
    Thread *issuer;
    std::uint32_t site;
    std::uint32_t phase;
    Tick tick; ///< Of the thread's queue; 0: it is a copy of its own.
  };

  std::uint32_t madeAt = 0; ///< The place.
  ThreadId maker;
  Tick madeTick = 0;          ///< Of the maker.
  ThreadId fence;             ///< Tick 1: the making has crossed to other proxies.
  ThreadId id;                ///< Among those that act.
  std::uint32_t arrivals = 0; ///< That each phase wants.
  std::uint32_t lacking = 0;  ///< That the phase now running still wants.
  std::int64_t bytes = 0;     ///< That are expected and have not come.
  std::uint32_t phase = 0;    ///< That runs now.
  Clock gathered;             ///< From those that have arrived in it.
  Clock ended;                ///< From those that had arrived in the one before.
  std::unordered_map<std::uint32_t, Answer> answers; ///< By thread.
  std::vector<Thread *> waiting;
  std::vector<UnobservedArrival> unanswered;

  /// How many phases a thread with such a clock knows to be over; nothing: nor that there is the
  /// barrier.
  std::optional<std::uint32_t> knownPhases(const Clock &seen) const {
    const Tick tick = seen.seen(id);
    if (tick == 0) return std::nullopt;
    return tick - 1;
  }
  bool isComplete() const { return lacking == 0 && bytes == 0; }
};

/// A thread's answered wait that nothing keeps before the end of the phase now running.
struct UnorderedWait {
  std::uint32_t thread;
  std::uint32_t site;
};

/// End the phase now running; who waits for it is not told yet. Gives a wait that might have missed
/// the end of the phase before.
std::optional<UnorderedWait> endPhase(PhaseBarrier &barrier);

/// By where they begin in shared memory.
using PhaseBarriers = std::map<std::uint64_t, PhaseBarrier>;

inline constexpr std::uint64_t kPhaseBarrierBytes = machine::kBarrierBytes;

/// The barrier that has one of these bytes; null: none.
PhaseBarriers::value_type *barrierWithin(PhaseBarriers &barriers, std::uint64_t offset,
                                         std::uint64_t bytes);

} // namespace imbrex::emulate
