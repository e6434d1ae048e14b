#pragma once

#include "backend/schedule/program/program.h"

#include <cstdint>
#include <functional>
#include <vector>

/// What each agent of a schedule does, one step after the other, for given numbers of trips: no
/// loops, guards or cursors are left, and memory is cells of which an access takes the whole.
namespace imbrex::testing {

using schedule::TripCount;

struct CellAccess {
  std::uint32_t cell;
  std::uint32_t content; ///< Which buffer's which generation is read or written; never 0.
  bool writes;
};

struct Step {
  schedule::ScheduleOpKind kind;
  std::vector<CellAccess> accesses = {};
  bool isAsync = false;       ///< It reaches cells and barriers through the async proxy.
  std::uint32_t barrier = 0;  ///< A slot of a barrier; the first one for `Init`.
  std::uint32_t barriers = 1; ///< How many of them: 1 but for `Init`.
  bool parity = false;        ///< Of the phase that a wait waits for.
  std::int32_t count = 0;     ///< Arrivals.
  std::int64_t bytes = 0;
  std::uint32_t queue = 0; ///< An agent's.
  std::uint32_t ended =
      0; ///< So many of the queue's operations must have, for this step to be done.
  std::uint32_t number = 0;  ///< Of a meeting.
  std::uint32_t parties = 0; ///< Of that meeting.
  std::uint32_t pending = 0; ///< What a copy or a signal is called while it is on its way.
};

struct TracedBarrier {
  std::int32_t arrivals;
  bool initialised; ///< From the start.
};

struct TracedQueue {
  bool serial;
  std::vector<std::uint32_t> operations = {}; ///< The steps of its agent that issue, in order.
  std::uint32_t agent;
};

struct StepName {
  std::uint32_t agent, step;
};

struct Traces {
  std::vector<std::vector<Step>> agents = {};
  std::vector<TracedBarrier> barriers = {}; ///< Slot by slot.
  std::vector<TracedQueue> queues = {};
  std::vector<StepName> pendings = {}; ///< The copies and signals.
  std::uint32_t cells = 0;
  std::vector<bool> isShared = {}; ///< By cell: whether it is in the memory that has proxies.
};

/// An index before use 0 is what a machine makes of it: slots and parities go on downwards. A reset
/// takes back slots and parities, but what is read and written goes on to be something new.
Traces trace(const schedule::Program &program, const TripCount &count);

} // namespace imbrex::testing
