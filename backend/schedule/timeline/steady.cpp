#include "backend/schedule/timeline/simulation.h"

#include <algorithm>
#include <map>

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

/// What repeats itself throughout the middle half of the path. One repetition would not do: where
/// two slots are used in one go and then both are waited for, parts of the cycle look alike.
void findCritical(Timeline &timeline) {
  const std::vector<CriticalStep> path = pathToEnd(timeline);
  const std::size_t begin = path.size() / 4, end = path.size() - path.size() / 4;
  const auto isLike = [&](const CriticalStep &a, const CriticalStep &b) {
    const Span &x = timeline.spans[static_cast<std::size_t>(a.span)];
    const Span &y = timeline.spans[static_cast<std::size_t>(b.span)];
    return x.op == y.op && x.kind == y.kind && a.cycles == b.cycles;
  };
  const auto at = [&](std::size_t step) {
    return path.begin() + static_cast<std::ptrdiff_t>(step);
  };
  for (std::size_t length = 1; length <= std::min((end - begin) / 2, kLongestCycle); ++length) {
    if (!std::equal(at(begin), at(end - length), at(begin + length), isLike)) continue;
    // It is told from the first role's part on.
    const auto first = std::min_element(at(begin), at(begin + length), [&](auto &a, auto &b) {
      const auto key = [&](const CriticalStep &step) {
        return std::pair(step.cycles == 0,
                         timeline.spans[static_cast<std::size_t>(step.span)].role);
      };
      return key(a) < key(b);
    });
    timeline.critical.assign(first + 1, first + 1 + static_cast<std::ptrdiff_t>(length));
    std::ranges::reverse(timeline.critical);
    break;
  }
  for (const CriticalStep &step : timeline.critical) timeline.criticalCycles += step.cycles;
}

// --- the interval of a loop ---

/// The fewest trips of a loop in which a period is looked for, and how often they are doubled.
constexpr std::int32_t kFewestTrips = 64;
constexpr std::int32_t kMostDoublings = 7;

struct Period {
  std::int64_t trips = 0, cycles = 0;

  friend bool operator==(const Period &, const Period &) = default;
};

/// The first half is for getting into the stride; what the last roles do alone is left out, too.
class SteadyTrips {
public:
  explicit SteadyTrips(const std::vector<std::vector<std::int64_t>> &starts) : starts_(starts) {
    const std::size_t count = starts.empty() ? 0 : starts.front().size();
    begin_ = count / 2;
    end_ = count - count / 4;
  }

  /// After so many trips every role repeats itself; the cycles are the slowest role's.
  Period find() const {
    for (std::size_t trips = 1; trips <= (end_ - begin_) / 3; ++trips) {
      std::int64_t cycles = -1;
      for (const auto &role : starts_) {
        const std::int64_t own = repeats(role, trips);
        if (own == kDoesNot) {
          cycles = -1;
          break;
        }
        cycles = std::max(cycles, own);
      }
      if (cycles >= 0) return {.trips = static_cast<std::int64_t>(trips), .cycles = cycles};
    }
    return {};
  }

private:
  static constexpr std::int64_t kDoesNot = -2;

  /// The cycles of so many trips, -1 for a role that is not in the loop.
  std::int64_t repeats(const std::vector<std::int64_t> &role, std::size_t trips) const {
    if (role[begin_] < 0) return -1;
    const std::int64_t cycles = role[begin_ + trips] - role[begin_];
    for (std::size_t i = begin_; i + trips < end_; ++i)
      if (role[i + trips] - role[i] != cycles) return kDoesNot;
    return cycles;
  }

  const std::vector<std::vector<std::int64_t>> &starts_;
  std::size_t begin_ = 0, end_ = 0;
};

/// What one run has to do, in all.
struct Load {
  std::int64_t cycles = 0;
  std::map<std::string, std::int64_t> busy = {}; ///< By what does it.
  Period period = {};
};

Result<Load> loadOf(const check::Model &model, TripsId loop,
                    const std::vector<std::int32_t> &trips) {
  timeline::Simulation simulation(model, trips);
  simulation.watch(loop);
  if (auto problem = simulation.run()) return Failure<Diagnostic>{*problem};
  Load load{.period = SteadyTrips(simulation.tripStarts()).find()};
  const Timeline line = simulation.takeTimeline();
  load.cycles = line.cycles;
  for (const ResourceUse &resource : line.resources) load.busy[resource.name] += resource.busy;
  for (const Span &span : line.spans)
    if (span.kind == Span::Kind::Work)
      load.busy["role " + model.program[span.role].name] += span.cycles();
  return load;
}

double perTrip(std::int64_t more, std::int64_t less, std::int32_t trips) {
  return static_cast<double>(more - less) / trips;
}

/// The same counts, with this one for the loop.
std::vector<std::int32_t> withTrips(std::vector<std::int32_t> trips, TripsId loop,
                                    std::int32_t count) {
  trips[loop.index()] = count;
  return trips;
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

Result<Interval> initiationInterval(const Program &program, TripsId loop,
                                    std::vector<std::int32_t> trips) {
  for (TripsId outer = program[loop].within; outer.valid(); outer = program[outer].within)
    trips[outer.index()] = std::max(1, program[outer].least);
  std::int32_t count = kFewestTrips;
  for (const Ring &ring : program.rings) count = std::max(count, 8 * ring.depth);
  const check::Model model(program);
  auto load = loadOf(model, loop, withTrips(trips, loop, count));
  if (!load) return load.failure();
  for (std::int32_t doubling = 0;; ++doubling, count *= 2) {
    auto twice = loadOf(model, loop, withTrips(trips, loop, 2 * count));
    if (!twice) return twice.failure();
    const bool agree = load->period.trips > 0 && load->period == twice->period;
    if (!agree && doubling < kMostDoublings) {
      load = std::move(twice);
      continue;
    }
    Interval interval;
    interval.cyclesPerTrip = perTrip(twice->cycles, load->cycles, count);
    if (agree) {
      interval.period = load->period.trips;
      interval.periodCycles = load->period.cycles;
      interval.cyclesPerTrip =
          perTrip(load->period.cycles, 0, static_cast<std::int32_t>(interval.period));
    }
    for (const auto &[who, busy] : twice->busy) {
      const double bound = perTrip(busy, load->busy[who], count);
      if (bound <= interval.lowerBound) continue;
      interval.lowerBound = bound;
      interval.busiest = who;
    }
    return interval;
  }
}

} // namespace imbrex::schedule
