#include "backend/schedule/timeline/critical.h"
#include "backend/schedule/timeline/simulation.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <functional>
#include <tuple>

// What a timeline says of a schedule that has got into its stride.
namespace imbrex::schedule {

namespace {

/// A resource that is busy for less of the steady time has gaps that something else makes. The rest
/// is for what the middle half cuts off.
constexpr double kBinds = 0.98;

std::int64_t busyOf(const TimelineSpan &span) {
  return span.kind == TimelineSpan::Kind::Wait || span.resource == kNoResource ? 0
                                                                               : span.op->cost.busy;
}

/// The middle half of the time, where loops have got into their stride.
struct Middle {
  std::int64_t begin, end;
};
Middle middleOf(std::int64_t cycles) { return {cycles / 4, cycles - cycles / 4}; }

/// By resource: for how many cycles of the middle half it is busy.
std::vector<std::int64_t> busyInMiddle(const Timeline &timeline) {
  const auto [begin, end] = middleOf(timeline.cycles);
  std::vector<std::int64_t> busy(timeline.resources.size());
  for (const TimelineSpan &span : timeline.spans) {
    const std::int64_t taken = busyOf(span);
    const std::int64_t inside = std::min(end, span.start + taken) - std::max(begin, span.start);
    if (taken > 0 && inside > 0) busy[static_cast<std::size_t>(span.resource)] += inside;
  }
  return busy;
}

void shareOut(Timeline &timeline, const std::vector<std::int64_t> &busy) {
  if (timeline.cycles == 0) return;
  const auto [begin, end] = middleOf(timeline.cycles);
  double most = kBinds;
  for (std::size_t i = 0; i < timeline.resources.size(); ++i) {
    ResourceUse &resource = timeline.resources[i];
    resource.share = static_cast<double>(resource.busy) / static_cast<double>(timeline.cycles);
    resource.steadyShare = static_cast<double>(busy[i]) / static_cast<double>(end - begin);
    if (resource.steadyShare < most) continue;
    most = resource.steadyShare;
    timeline.binding = static_cast<std::int32_t>(i);
  }
}

// --- the loop that most of the time goes into ---

/// By trips: how many loops stand around each, in some role.
void noteDepths(const std::vector<ScheduleOp> &body, std::int32_t depth,
                std::vector<std::int32_t> &depths) {
  for (const ScheduleOp &op : body) {
    const bool loops = op.kind == ScheduleOpKind::For;
    if (loops) depths[op.trips.index()] = std::max(depths[op.trips.index()], depth);
    noteDepths(op.body, depth + (loops ? 1 : 0), depths);
  }
}

/// The innermost one that runs for half of the time, else the one that runs for longest.
std::vector<TripsId> loopsByWeight(const Program &program, const Timeline &timeline) {
  std::vector<std::int32_t> depths(program.trips.size());
  for (const Role &role : program.roles) noteDepths(role.body, 0, depths);
  std::vector<TripsId> loops;
  for (std::uint32_t loop = 0; loop < depths.size(); ++loop)
    if (timeline.loops[loop].cycles > 0) loops.emplace_back(loop);
  const auto weight = [&](TripsId loop) {
    const std::int64_t cycles = timeline.loops[loop.index()].cycles;
    const bool isMost = 2 * cycles >= timeline.cycles;
    return std::tuple(isMost, isMost ? depths[loop.index()] : 0, cycles);
  };
  std::ranges::stable_sort(loops, std::greater(), weight);
  return loops;
}

/// Of the first that comes to repeat itself.
std::optional<LoopLimit> limitInLoop(const Program &program, const Timeline &timeline,
                                     const std::vector<std::int32_t> &trips) {
  for (const TripsId loop : loopsByWeight(program, timeline)) {
    auto interval = initiationInterval(program, loop, trips, IntervalOf::TimeAndCycle);
    if (!interval || interval->critical.empty()) continue;
    const std::int64_t cycles = timeline.loops[loop.index()].cycles;
    return LoopLimit{.loop = loop,
                     .share = static_cast<double>(cycles) / static_cast<double>(timeline.cycles),
                     .interval = *std::move(interval)};
  }
  return std::nullopt;
}

} // namespace

std::int64_t cyclesOf(const std::vector<CriticalStep> &cycle) {
  return llvm::sum_of(llvm::map_range(cycle, [](const CriticalStep &step) { return step.cycles; }));
}

Result<Timeline> simulate(const Program &program, const std::vector<std::int32_t> &trips) {
  IMBREX_CHECK(trips.size() == program.trips.size(), "{0} counts are given for {1} trips",
               trips.size(), program.trips.size());
  for (std::size_t i = 0; i < trips.size(); ++i)
    if (trips[i] < program.trips[i].least)
      return fail(Diag::TooFewTrips, {}, program.trips[i].name, program.trips[i].least, trips[i]);
  const check::Model model(program, check::Purpose::Timing);
  timeline::Simulation simulation(model, trips, {.spans = timeline::kMostSpans});
  if (auto problem = simulation.run()) return Failure<Diagnostic>{*problem};
  Timeline timeline = simulation.takeTimeline();
  if (timeline.isWhole) {
    shareOut(timeline, busyInMiddle(timeline));
  } else {
    // When the middle is, is known by now.
    const auto [begin, end] = middleOf(timeline.cycles);
    timeline::Simulation again(model, trips, {.windowBegin = begin, .windowEnd = end});
    if (auto problem = again.run()) return Failure<Diagnostic>{*problem};
    shareOut(timeline, again.busyInWindow());
  }
  if (timeline.isWhole) timeline.critical = timeline::criticalCycle(timeline);
  if (timeline.binding == kNoResource && timeline.critical.empty())
    timeline.inLoop = limitInLoop(program, timeline, trips);
  return timeline;
}

} // namespace imbrex::schedule
