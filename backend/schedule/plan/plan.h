#pragma once

#include "backend/machine/machine.h"
#include "backend/schedule/plan/budget.h"
#include "backend/schedule/plan/ping_pong.h"
#include "backend/schedule/plan/synchronise.h"
#include "backend/schedule/timeline/timeline.h"

#include <optional>
#include <string>
#include <vector>

namespace imbrex::schedule {

/// What is asked of a plan.
struct PlanRequest {
  const machine::Machine &machine;
  TripsId loop;                                     ///< That is to run fast.
  std::vector<std::int32_t> trips;                  ///< By trips: a usual number, for the others.
  std::vector<bool> signals = {};                   ///< By queue of the work: see QueuePlan.
  std::optional<std::int32_t> slots = std::nullopt; ///< The author's; none: as many as pay.
  std::int32_t warps = 8;                           ///< Of the role that computes.
  std::int32_t minBlocks = 1;                       ///< That are to share a core.
  bool turns = false;     ///< The warps that compute may do so in two groups, by turns.
  bool registers = false; ///< Roles may change theirs.

  bool isSignalling(QueueId queue) const {
    return queue.index() < signals.size() && signals[queue.index()];
  }
};

/// One way to schedule the work.
struct Candidate {
  std::string roles;           ///< "load | compute"
  std::int32_t slots = 1;      ///< Of the rings that move on with the loop.
  std::int32_t outerSlots = 1; ///< Of those that move on with a loop around it.
  std::int32_t inFlight = 0;   ///< See QueuePlan.
  Demand demand = {};
  Interval interval = {};
  std::string refused = {}; ///< Why it cannot be taken; empty: it could.
  /// Its groups count loads and meet: see ping_pong.h.
  std::optional<LastCluster> takesTurns = std::nullopt;
  std::string placement = {};               ///< Of the loads then, for people.
  std::vector<std::int32_t> registers = {}; ///< Of a thread, by role; empty: as the launch gives.
};

struct Plan {
  Program program; ///< With all that orders it; not proven yet.
  std::vector<Candidate> candidates;
  std::size_t chosen = 0;

  const Candidate &taken() const { return candidates[chosen]; }
  /// The cycles of an outermost trip over what no order of the operations could beat; 1: nothing is
  /// lost.
  double gap() const { return taken().interval.cyclesPerTrip / taken().interval.lowerBound; }
};

/// Choose roles, slots and what may be in flight for sequential work (see splitRoles): the fewest
/// cycles for each trip of the outermost loop around, which overlap too, then the fewest slots,
/// then the fewest warps, then the least memory, of all that the machine has room for.
///
/// Where loads are copies that count on a barrier, they may become roles of their own, all in one
/// or those of each loop in one; where products run on a queue that signals, those as well. Where
/// loads run on a queue, into slots or into registers that are stored there, one role starts them
/// ahead, or two groups of its warps do by turns.
/// Nothing, and errors, where no candidate fits.
std::optional<Plan> planSchedule(const Program &work, const PlanRequest &request,
                                 Diagnostics &diagnostics);

/// Why the plan is what it is, for people: the candidates, what bounds the one that was taken, and
/// what one slot more would cost and bring.
std::string explain(const Plan &plan, const PlanRequest &request);

} // namespace imbrex::schedule
