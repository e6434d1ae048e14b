#pragma once

#include "backend/schedule/program/program.h"
#include "backend/support/result.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// When everything in a schedule happens, as far as the costs of its operations say. For plans and
/// pictures: a timeline is one run of many, so that it proves nothing, and the program is to be
/// checked before (check.h).
///
/// The run is an event-driven one and the same every time:
///
///   access          keeps its role busy from its start for `cost.cycles`
///   copy, issue     take no time of the role. They start when their resource is free (one of a
///                   serial queue also after the one before it), end `cost.cycles` later, and not
///                   before the one before in their queue. A copy's bytes land when it ends.
///   all others      keep their role busy for their cost, mostly nothing, when what they wait for
///                   is there. That of a `for` or `if` counts each time that its body is entered.
///
/// A resource is one unit, which all roles share and which serves in the order of asking; of two
/// that ask in the same cycle a queue's next comes first, then the roles as the program lists them.
///
/// The warps of a role run as one, and a cost is that of all of them together. Counts stay right
/// because each arrival, byte and party counts as many times as there are warps, and because warps
/// of a checked program that do the same at the same time end a phase together.
namespace imbrex::schedule {

inline constexpr std::int32_t kNoSpan = -1, kNoResource = -1;
inline constexpr std::int64_t kNoUse = std::numeric_limits<std::int64_t>::min();

/// One operation's time, or part of it.
struct TimelineSpan {
  enum class Kind : std::uint8_t {
    Work,    // its role is busy with it
    Flight,  // it goes on by itself
    Wait,    // its role is held up: of no length where it need not wait
    Instant, // it takes no time
  };
  Kind kind;
  RoleId role;
  const ScheduleOp *op;                ///< Of the program, which must live as long.
  std::int64_t use = kNoUse;           ///< Of the ring that it works on.
  std::int32_t resource = kNoResource; ///< That it takes; of a wait: that it waits for.
  std::int64_t issued = 0;             ///< When its role came to it.
  std::int64_t start = 0, end = 0;
  std::int32_t firstUse = 0; ///< Of its accesses, in Timeline::accessUses.
  /// Why it did not start earlier, or of a wait, end earlier: the role was busy with this until
  /// then, or this held the resource, was in front in the queue, arrived or landed.
  std::int32_t cause = kNoSpan;

  std::int64_t cycles() const { return end - start; }
};

struct ResourceUse {
  std::string name;
  std::int64_t busy = 0; ///< Cycles.
  /// Of all cycles, and of those of the middle half, where loops have got into their stride.
  double share = 0, steadyShare = 0;
};

/// What a role has waited for at one place.
struct WaitUse {
  const ScheduleOp *op;
  std::int32_t resource = kNoResource; ///< That it waited for; none: what the operation waits for.
  std::int64_t cycles = 0, held = 0, times = 0;
};

struct RoleUse {
  std::int64_t works = 0;          ///< Cycles.
  std::vector<WaitUse> waits = {}; ///< In the order in which they came first.
};

struct LoopUse {
  std::int64_t cycles = 0; ///< That a role was in it, the one that was for longest.
};

/// A span of a cycle of operations, each of which waits for the one before, and how many of its
/// cycles are on it.
struct CriticalStep {
  const ScheduleOp *op;
  TimelineSpan::Kind kind;
  RoleId role;
  std::int64_t cycles;
};

/// What a role is called beside resources: "role NAME".
inline constexpr std::string_view kBusyRole = "role ";

/// How fast a loop is when it has got into its stride.
struct Interval {
  double cyclesPerTrip = 0;
  /// So many trips are like so many others, and take so many cycles; 0: no such number was found,
  /// and the cycles are those of many trips divided by their number.
  std::int64_t period = 0, periodCycles = 0;
  /// No order of the operations could be faster: what the busiest resource or role has to do.
  double lowerBound = 0;
  std::string busiest = {};
  /// What each resource has to do, by name: without roles.
  std::map<std::string, double> resources = {};
  /// What its trips' time goes into, in a cycle that comes again and again; empty where that was
  /// not asked for, or is not known.
  std::vector<CriticalStep> critical = {};
};

/// What limits a run that is not alike throughout, where most of its time goes.
struct LoopLimit {
  TripsId loop;
  double share = 0; ///< Of all cycles, that the loop runs.
  Interval interval = {};
};

struct Timeline {
  /// In the order in which the run came to them: all, or the first of them (simulation.h says how
  /// many).
  std::vector<TimelineSpan> spans;
  bool isWhole = true; ///< The spans are all.
  /// The uses that accesses name, one for each access of each span but waits and instants; kNoUse
  /// without a ring.
  std::vector<std::int64_t> accessUses;
  std::vector<ResourceUse> resources;
  std::vector<RoleUse> roles; ///< By role.
  std::vector<LoopUse> loops; ///< By trips.
  std::int64_t cycles = 0;    ///< Until the last span has ended.

  /// The resource that limits the speed, busy nearly all of the steady time.
  std::int32_t binding = kNoResource;
  /// What had to wait for what, without a gap, in a cycle that makes up the steady part of the run:
  /// where no resource binds, this does.
  std::vector<CriticalStep> critical;
  /// Where the run has no such part, or more than one, and no resource binds.
  std::optional<LoopLimit> inLoop;
};

std::int64_t cyclesOf(const std::vector<CriticalStep> &cycle);

/// `trips[id.index()]` trips each time that a loop runs. The program must be well formed
/// (well_formed.h); an error for one that stops for ever or is too long. What it takes does not
/// grow with the trips of a loop that comes to repeat itself.
Result<Timeline> simulate(const Program &program, const std::vector<std::int32_t> &trips);

enum class IntervalOf : std::uint8_t {
  Time,
  TimeAndCycle, // also `critical`
};

/// Exact for a loop that comes to repeat itself. Loops around it run once, or as often as they
/// must; for all others `trips` counts. The loop itself runs as often as it takes to tell, so that
/// a program may stop for ever in it that is safe with the trips that were asked for, though none
/// that is proven (check.h): the error says with which.
Result<Interval> initiationInterval(const Program &program, TripsId loop,
                                    std::vector<std::int32_t> trips,
                                    IntervalOf wanted = IntervalOf::Time);

} // namespace imbrex::schedule
