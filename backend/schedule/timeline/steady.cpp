#include "backend/schedule/channels.h"
#include "backend/schedule/timeline/simulation.h"

#include <algorithm>
#include <map>
#include <span>

// What a timeline says of a schedule that has got into its stride.
namespace imbrex::schedule {

namespace {

/// A resource that is busy for less of the steady time has gaps that something else makes. The rest
/// is for what the middle half cuts off.
constexpr double kBinds = 0.98;

std::int64_t busyOf(const Span &span) {
  return span.kind == Span::Kind::Wait || span.resource == kNoResource ? 0 : span.op->cost.busy;
}

void shareOut(Timeline &timeline) {
  if (timeline.cycles == 0) return;
  const std::int64_t begin = timeline.cycles / 4, end = timeline.cycles - timeline.cycles / 4;
  std::vector<std::int64_t> busy(timeline.resources.size());
  for (const Span &span : timeline.spans) {
    const std::int64_t taken = busyOf(span);
    const std::int64_t inside = std::min(end, span.start + taken) - std::max(begin, span.start);
    if (taken > 0 && inside > 0) busy[static_cast<std::size_t>(span.resource)] += inside;
  }
  double most = kBinds;
  for (std::size_t i = 0; i < busy.size(); ++i) {
    ResourceUse &resource = timeline.resources[i];
    resource.share = static_cast<double>(resource.busy) / static_cast<double>(timeline.cycles);
    resource.steadyShare = static_cast<double>(busy[i]) / static_cast<double>(end - begin);
    if (resource.steadyShare < most) continue;
    most = resource.steadyShare;
    timeline.binding = static_cast<std::int32_t>(i);
  }
}

/// How long a span's end is behind its beginning, on a path that leaves it at a time: all but the
/// waits, for which others are the reason.
std::int64_t contribution(const Span &span, std::int64_t until) {
  const bool works = span.kind == Span::Kind::Work || span.kind == Span::Kind::Flight;
  // One that had to end behind another in its queue is late by that one alone.
  const bool held = span.kind == Span::Kind::Flight && span.cycles() > span.op->cost.cycles;
  return works && !held ? until - span.start : 0;
}

/// More steps back than any picture has, and longer cycles than a loop's body is.
constexpr std::size_t kLongestPath = 50'000, kLongestCycle = 4'000;

/// From the span that ends last back, always to what it had to wait for.
std::vector<CriticalStep> pathToEnd(const Timeline &timeline) {
  const auto last = std::ranges::max_element(timeline.spans, {}, &Span::end);
  std::vector<CriticalStep> path;
  if (last == timeline.spans.end()) return path;
  std::int64_t time = last->end;
  auto number = static_cast<std::int32_t>(last - timeline.spans.begin());
  while (number != kNoSpan && path.size() < kLongestPath) {
    const Span &span = timeline.spans[static_cast<std::size_t>(number)];
    const std::int64_t cycles = contribution(span, time);
    path.push_back({.span = number, .cycles = cycles});
    time -= cycles;
    number = span.cause;
  }
  return path;
}

/// How many steps of a part of the path it is that repeat themselves throughout that part; 0: none
/// do. One repetition would not be enough: where the slots of a ring are used in one go and then
/// all waited for, parts of the cycle look alike.
std::size_t cycleIn(const Timeline &timeline, std::span<const CriticalStep> part,
                    std::size_t repetitions) {
  const auto isLike = [&](const CriticalStep &a, const CriticalStep &b) {
    const Span &x = timeline.spans[static_cast<std::size_t>(a.span)];
    const Span &y = timeline.spans[static_cast<std::size_t>(b.span)];
    return x.op == y.op && x.kind == y.kind;
  };
  const std::size_t most = std::min(part.size() / repetitions, kLongestCycle);
  for (std::size_t length = 1; length <= most; ++length)
    if (std::ranges::equal(part.first(part.size() - length), part.subspan(length), isLike))
      return length;
  return 0;
}

/// The cycle at the beginning of a part, told from the first role's share in it on.
void tellCycle(Timeline &timeline, std::span<const CriticalStep> part, std::size_t length) {
  const auto key = [&](const CriticalStep &step) {
    return std::pair(step.cycles == 0, timeline.spans[static_cast<std::size_t>(step.span)].role);
  };
  const auto first = std::ranges::min_element(part.first(length), {}, key);
  timeline.critical.assign(first + 1, first + 1 + static_cast<std::ptrdiff_t>(length));
  std::ranges::reverse(timeline.critical); // the path goes back in time
  for (const CriticalStep &step : timeline.critical) timeline.criticalCycles += step.cycles;
}

/// What repeats itself throughout the middle half of the path; else, since an inner loop may begin
/// anew in there, what does so throughout a shorter part of it.
void findCritical(Timeline &timeline) {
  constexpr std::size_t kShortest = 16; // parts of the path
  const std::vector<CriticalStep> path = pathToEnd(timeline);
  const auto middle = std::span(path).subspan(path.size() / 4, path.size() - path.size() / 4 * 2);
  for (std::size_t parts = 1; 2 * parts <= kShortest; parts *= 2)
    for (std::size_t i = 0; i < parts; ++i) {
      const std::size_t size = middle.size() / parts;
      const auto part = middle.subspan(i * size, size);
      const std::size_t length = cycleIn(timeline, part, parts == 1 ? 2 : 4);
      if (length > 0) return tellCycle(timeline, part, length);
    }
}

// --- the interval of a loop ---

/// The fewest trips of a loop in which a period is looked for, and how often they are doubled.
constexpr std::int32_t kFewestTrips = 64;
constexpr std::int32_t kMostDoublings = 7;

/// So many that the middle half is beyond the first fillings of the rings, and has none of the
/// trips that conditions tell apart.
std::int64_t tripsForStride(const Program &program, TripsId loop) {
  std::int64_t count = std::max(kFewestTrips, program[loop].least);
  for (const Ring &ring : program.rings) count = std::max(count, std::int64_t{8} * ring.depth);
  for (const Role &role : program.roles)
    forEachOp(role.body, [&](const Op &op) {
      if (op.kind == OpKind::If && op.guard.trips == loop)
        count = std::max(count, 4 * (std::int64_t{op.guard.than} + 1));
    });
  return count;
}

/// After how many trips every role repeats itself, all in the same time; 0 where they do not. The
/// first half of the trips is for getting into the stride, and the last quarter is left out, which
/// some roles do alone.
std::int32_t periodOf(const std::vector<std::vector<std::int64_t>> &tripStarts) {
  if (tripStarts.empty()) return 0;
  const std::size_t count = tripStarts.front().size();
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
struct Load {
  std::int64_t cycles = 0;
  std::map<std::string, std::int64_t> busy = {}; ///< By what does it.
  std::int32_t period = 0;
  std::optional<timeline::Repetition> repetition = std::nullopt; ///< The run ended with it.
};

/// What a number of trips can be at most.
constexpr std::int64_t kMostTrips = std::numeric_limits<std::int32_t>::max();

bool isTooLong(const Result<Load> &load) {
  return !load && load.error().kind == Diag::TimelineTooLong;
}

/// A loop to be run with several numbers of trips.
struct TimedLoop {
  const check::Model &model;
  TripsId loop;
  std::vector<std::int32_t> trips; ///< Of the other loops.

  Result<Load> run(std::int64_t count) {
    trips[loop.index()] = static_cast<std::int32_t>(std::min(count, kMostTrips));
    timeline::Simulation simulation(model, trips);
    simulation.watch(loop);
    if (auto problem = simulation.run()) return Failure<Diagnostic>{*problem};
    Load load{.busy = simulation.busy(), .repetition = simulation.repetition()};
    if (load.repetition) return load;
    load.period = periodOf(simulation.tripStarts());
    load.cycles = simulation.takeTimeline().cycles;
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
    if (bound <= interval.lowerBound) continue;
    interval.lowerBound = bound;
    interval.busiest = who;
  }
  return interval;
}

/// Of what so many more trips cost.
Interval intervalOf(const Load &load, const Load &more, std::int64_t trips) {
  std::map<std::string, std::int64_t> added = more.busy;
  for (const auto &[who, busy] : load.busy) added[who] -= busy;
  return intervalOf(more.cycles - load.cycles, added, trips);
}

Interval intervalOf(const timeline::Repetition &repetition) {
  Interval interval = intervalOf(repetition.cycles, repetition.busy, repetition.trips);
  interval.period = repetition.trips;
  interval.periodCycles = repetition.cycles;
  return interval;
}

} // namespace

Result<Timeline> simulate(const Program &program, const std::vector<std::int32_t> &trips) {
  IMBREX_CHECK(trips.size() == program.trips.size(), "{0} counts are given for {1} trips",
               trips.size(), program.trips.size());
  for (std::size_t i = 0; i < trips.size(); ++i)
    if (trips[i] < program.trips[i].least)
      return fail(Diag::TooFewTrips, {}, program.trips[i].name, program.trips[i].least, trips[i]);
  const check::Model model(program);
  timeline::Simulation simulation(model, trips);
  if (auto problem = simulation.run()) return Failure<Diagnostic>{*problem};
  Timeline timeline = simulation.takeTimeline();
  shareOut(timeline);
  findCritical(timeline);
  return timeline;
}

/// A period is believed when one more and two more of it cost as much each: the whole run, with its
/// beginning and end, says what the trips in the middle say. Where a run with more trips would be
/// too long, the whole of the last one has to do.
Result<Interval> initiationInterval(const Program &program, TripsId loop,
                                    std::vector<std::int32_t> trips) {
  for (TripsId outer = program[loop].within; outer.valid(); outer = program[outer].within)
    trips[outer.index()] = std::max(1, program[outer].least);
  std::int64_t count = tripsForStride(program, loop);
  std::optional<Load> half; // of half as many trips
  const check::Model model(program);
  TimedLoop timed{model, loop, std::move(trips)};
  for (std::int32_t doubling = 0;; ++doubling, count *= 2) {
    const auto load = timed.run(count);
    if (half && isTooLong(load)) return intervalOf(half->cycles, half->busy, count / 2);
    if (!load) return load.failure();
    if (load->repetition) return intervalOf(*load->repetition);
    half = *load;
    const bool isLast = doubling == kMostDoublings;
    if (load->period == 0 && !isLast) continue;
    const std::int64_t more = load->period == 0 ? count : load->period;
    const auto once = timed.run(count + more), twice = timed.run(count + 2 * more);
    if (isTooLong(once) || isTooLong(twice)) return intervalOf(load->cycles, load->busy, count);
    if (!once) return once.failure();
    if (!twice) return twice.failure();
    if (once->repetition) return intervalOf(*once->repetition);
    if (twice->repetition) return intervalOf(*twice->repetition);
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
