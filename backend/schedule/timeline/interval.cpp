#include "backend/schedule/program/channels.h"
#include "backend/schedule/timeline/critical.h"
#include "backend/schedule/timeline/simulation.h"

#include <algorithm>
#include <map>

// How fast a loop is when it has got into its stride.
namespace imbrex::schedule {

namespace {

/// The fewest trips of a loop in which a period is looked for, and how often they are doubled.
constexpr std::int32_t kFewestTrips = 64;
constexpr std::int32_t kMostDoublings = 7;

/// So many that the middle half is beyond the first fillings of the rings, and has none of the
/// trips that conditions tell apart.
std::int64_t tripsForStride(const Program &program, TripsId loop) {
  std::int64_t count = std::max(kFewestTrips, program[loop].least);
  for (const Ring &ring : program.rings) count = std::max(count, std::int64_t{8} * ring.depth);
  for (const Role &role : program.roles)
    forEachOp(role.body, [&](const ScheduleOp &op) {
      if (op.kind == ScheduleOpKind::If && op.guard.trips == loop)
        count = std::max(count, 4 * (std::int64_t{op.guard.than} + 1));
    });
  return count;
}

/// After how many trips every role repeats itself, all in the same time; 0 where they do not. The
/// first half of the trips is for getting into the stride, and the last quarter is left out, which
/// some roles do alone.
std::int32_t periodOf(std::vector<std::vector<std::int64_t>> tripStarts, std::size_t count) {
  if (tripStarts.empty() || count > static_cast<std::size_t>(timeline::kMostSteps)) return 0;
  for (auto &starts : tripStarts) starts.resize(count); // 0 where a role does not come
  const std::size_t begin = count / 2, end = count - count / 4;
  const auto repeats = [&](std::size_t trips) {
    std::int64_t cycles = 0;
    for (const auto &starts : tripStarts) {
      const std::int64_t own = starts[begin + trips] - starts[begin];
      if (cycles != 0 && own != 0 && own != cycles) return false;
      cycles = std::max(cycles, own);
      for (std::size_t i = begin; i + trips < end; ++i)
        if (starts[i + trips] - starts[i] != own) return false;
    }
    return true;
  };
  for (std::size_t trips = 1; trips <= (end - begin) / 3; ++trips)
    if (repeats(trips)) return static_cast<std::int32_t>(trips);
  return 0;
}

/// What one run has to do, in all.
struct RunCost {
  std::int64_t cycles = 0;
  std::map<std::string, std::int64_t> busy = {}; ///< By what does it.
  std::int32_t period = 0;
  std::optional<timeline::Repetition> repetition = std::nullopt; ///< The run ended with it.
  std::vector<CriticalStep> critical = {};                       ///< Then, where it was asked for.
};

/// What a number of trips can be at most.
constexpr std::int64_t kMostTrips = std::numeric_limits<std::int32_t>::max();

bool isTooLong(const Result<RunCost> &load) {
  return !load && load.error().kind == Diag::TimelineTooLong;
}

/// A loop to be run with several numbers of trips.
struct TimedLoop {
  const check::Model &model;
  TripsId loop;
  std::vector<std::int32_t> trips; ///< Of the other loops.
  IntervalOf wanted;

  /// Where trips of a loop within were skipped, of another run that skips none.
  std::vector<CriticalStep> cycleOf(timeline::Simulation &run) const {
    if (run.repetition()->spans > 0) return timeline::criticalCycle(run);
    timeline::Simulation whole(model, trips, {.skips = false});
    whole.watch(loop);
    if (whole.run() || !whole.repetition()) return {};
    return timeline::criticalCycle(whole);
  }

  Result<RunCost> run(std::int64_t count) {
    trips[loop.index()] = static_cast<std::int32_t>(std::min(count, kMostTrips));
    timeline::Simulation simulation(model, trips);
    simulation.watch(loop);
    if (auto problem = simulation.run()) return Failure<Diagnostic>{*problem};
    RunCost load{.cycles = simulation.cycles(),
                 .busy = simulation.busy(),
                 .repetition = simulation.repetition()};
    if (load.repetition) {
      if (wanted == IntervalOf::TimeAndCycle) load.critical = cycleOf(simulation);
      return load;
    }
    load.period = periodOf(simulation.tripStarts(), static_cast<std::size_t>(trips[loop.index()]));
    return load;
  }
};

/// Of what so many trips cost.
Interval intervalOf(std::int64_t cycles, const std::map<std::string, std::int64_t> &busyFor,
                    std::int64_t trips) {
  Interval interval;
  interval.cyclesPerTrip = static_cast<double>(cycles) / static_cast<double>(trips);
  for (const auto &[who, busy] : busyFor) {
    const double bound = static_cast<double>(busy) / static_cast<double>(trips);
    if (!who.starts_with(kBusyRole)) interval.resources[who] = bound;
    if (bound <= interval.lowerBound) continue;
    interval.lowerBound = bound;
    interval.busiest = who;
  }
  return interval;
}

/// Of what so many more trips cost.
Interval intervalOf(const RunCost &load, const RunCost &more, std::int64_t trips) {
  std::map<std::string, std::int64_t> added = more.busy;
  for (const auto &[who, busy] : load.busy) added[who] -= busy;
  return intervalOf(more.cycles - load.cycles, added, trips);
}

Interval repeatedIn(const RunCost &load) {
  const timeline::Repetition &repetition = *load.repetition;
  Interval interval = intervalOf(repetition.cycles, repetition.busy, repetition.trips);
  interval.period = repetition.trips;
  interval.periodCycles = repetition.cycles;
  interval.critical = load.critical;
  return interval;
}

} // namespace

/// A period is believed when one more and two more of it cost as much each: the whole run, with its
/// beginning and end, says what the trips in the middle say. Where a run with more trips would be
/// too long, the whole of the last one has to do.
Result<Interval> initiationInterval(const Program &program, TripsId loop,
                                    std::vector<std::int32_t> trips, IntervalOf wanted) {
  for (TripsId outer = program[loop].within; outer.valid(); outer = program[outer].within)
    trips[outer.index()] = std::max(1, program[outer].least);
  std::int64_t count = tripsForStride(program, loop);
  std::optional<RunCost> half; // of half as many trips
  const check::Model model(program, check::Purpose::Timing);
  TimedLoop timed{model, loop, std::move(trips), wanted};
  for (std::int32_t doubling = 0;; ++doubling, count *= 2) {
    const auto load = timed.run(count);
    if (half && isTooLong(load)) return intervalOf(half->cycles, half->busy, count / 2);
    if (!load) return load.failure();
    if (load->repetition) return repeatedIn(*load);
    half = *load;
    const bool isLast = doubling == kMostDoublings;
    if (load->period == 0 && !isLast) continue;
    const std::int64_t more = load->period == 0 ? count : load->period;
    const auto once = timed.run(count + more), twice = timed.run(count + 2 * more);
    if (isTooLong(once) || isTooLong(twice)) return intervalOf(load->cycles, load->busy, count);
    if (!once) return once.failure();
    if (!twice) return twice.failure();
    if (once->repetition) return repeatedIn(*once);
    if (twice->repetition) return repeatedIn(*twice);
    const bool agree = twice->cycles - once->cycles == once->cycles - load->cycles;
    if (!agree && !isLast) continue;
    Interval interval = intervalOf(*load, *once, more);
    if (load->period == 0 || !agree) return interval;
    interval.period = load->period;
    interval.periodCycles = once->cycles - load->cycles;
    return interval;
  }
}

} // namespace imbrex::schedule
