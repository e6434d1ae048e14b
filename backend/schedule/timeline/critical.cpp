#include "backend/schedule/timeline/critical.h"

#include <algorithm>
#include <span>

namespace imbrex::schedule::timeline {

namespace {

/// How long a span's end is behind its beginning, on a path that leaves it at a time: all but the
/// waits, for which others are the reason.
std::int64_t contribution(const TimelineSpan &span, std::int64_t until) {
  const bool works =
      span.kind == TimelineSpan::Kind::Work || span.kind == TimelineSpan::Kind::Flight;
  // One that had to end behind another in its queue is late by that one alone.
  const bool held = span.kind == TimelineSpan::Kind::Flight && span.cycles() > span.op->cost.cycles;
  return works && !held ? until - span.start : 0;
}

CriticalStep stepOf(const TimelineSpan &span, std::int64_t cycles) {
  return {.op = span.op, .kind = span.kind, .role = span.role, .cycles = cycles};
}

/// A cycle on a path back in time, told from the first role's share in it on.
std::vector<CriticalStep> told(std::span<const CriticalStep> cycle) {
  const auto key = [](const CriticalStep &step) { return std::pair(step.cycles == 0, step.role); };
  std::vector<CriticalStep> steps(cycle.begin(), cycle.end());
  std::ranges::reverse(steps);
  // Of several that are alike the last one, as it has always been for loops that begin anew.
  const auto first = std::ranges::min_element(cycle, {}, key);
  std::ranges::rotate(steps, steps.end() - 1 - (first - cycle.begin()));
  return steps;
}

// --- of a whole timeline ---

/// More steps back than any picture has, and longer cycles than a loop's body is.
constexpr std::size_t kLongestPath = 50'000, kLongestCycle = 4'000;

/// From the span that ends last back.
std::vector<CriticalStep> pathToEnd(const Timeline &timeline) {
  const auto last = std::ranges::max_element(timeline.spans, {}, &TimelineSpan::end);
  std::vector<CriticalStep> path;
  if (last == timeline.spans.end()) return path;
  std::int64_t time = last->end;
  auto number = static_cast<std::int32_t>(last - timeline.spans.begin());
  while (number != kNoSpan && path.size() < kLongestPath) {
    const TimelineSpan &span = timeline.spans[static_cast<std::size_t>(number)];
    path.push_back(stepOf(span, contribution(span, time)));
    time -= path.back().cycles;
    number = span.cause;
  }
  return path;
}

/// How many steps it is that repeat themselves throughout; 0: none do.
std::size_t periodOf(std::span<const CriticalStep> path) {
  const auto isLike = [](const CriticalStep &a, const CriticalStep &b) {
    return a.op == b.op && a.kind == b.kind;
  };
  const std::size_t most = std::min(path.size() / 2, kLongestCycle);
  for (std::size_t length = 1; length <= most; ++length)
    if (std::ranges::equal(path.first(path.size() - length), path.subspan(length), isLike))
      return length;
  return 0;
}

// --- of a run that repeats itself ---

/// What is kept of such a run: so many spans in each period, which are alike but for their times,
/// and wait for spans that lie as far behind.
class Periods {
public:
  Periods(const std::vector<TimelineSpan> &spans, const Repetition &repetition)
      : spans_(spans), alikeFrom_(repetition.firstSpan), period_(repetition.spans),
        first_(repetition.firstSpan + repetition.spans), cycles_(repetition.cycles) {}

  /// None: some span is not at its end yet, or waits for one from before all that is alike.
  std::optional<std::vector<CriticalStep>> cycle() const {
    const std::int32_t kept = static_cast<std::int32_t>(spans_.size()) / period_;
    // In between, for what comes before and behind.
    const std::int32_t begin = kept / 2 * period_;
    std::vector<std::int32_t> seen(static_cast<std::size_t>(period_), -1);
    std::vector<CriticalStep> path;
    std::int32_t place = lastIn(begin);
    std::int64_t until = at(place).end;
    for (;;) {
      std::int32_t &before = seen[static_cast<std::size_t>(place - begin)];
      if (before >= 0) return told(std::span(path).subspan(static_cast<std::size_t>(before)));
      before = static_cast<std::int32_t>(path.size());
      const TimelineSpan &span = at(place);
      if (isUnderWay(span) || span.cause < alikeFrom_) return std::nullopt;
      path.push_back(stepOf(span, contribution(span, until)));
      until -= path.back().cycles;
      place = span.cause - first_;
      const std::int32_t back = place >= begin ? 0 : (begin - place + period_ - 1) / period_;
      place += back * period_;
      until += back * cycles_;
      if (place >= begin + period_) return std::nullopt;
    }
  }

private:
  const TimelineSpan &at(std::int32_t place) const {
    return spans_[static_cast<std::size_t>(place)];
  }

  std::int32_t lastIn(std::int32_t begin) const {
    const auto from = spans_.begin() + begin;
    return static_cast<std::int32_t>(
        std::ranges::max_element(from, from + period_, {}, &TimelineSpan::end) - spans_.begin());
  }

  /// In a queue, behind others.
  static bool isUnderWay(const TimelineSpan &span) {
    return span.kind == TimelineSpan::Kind::Flight && span.cycles() < span.op->cost.cycles;
  }

  const std::vector<TimelineSpan> &spans_;
  std::int32_t alikeFrom_, period_, first_;
  std::int64_t cycles_;
};

} // namespace

std::vector<CriticalStep> criticalCycle(const Timeline &timeline) {
  const std::vector<CriticalStep> path = pathToEnd(timeline);
  const auto middle = std::span(path).subspan(path.size() / 4, path.size() - path.size() / 4 * 2);
  const std::size_t length = periodOf(middle);
  return length > 0 ? told(middle.first(length)) : std::vector<CriticalStep>();
}

std::vector<CriticalStep> criticalCycle(Simulation &run) {
  if (run.repetition()->spans == 0) return {};
  constexpr std::int32_t kFewest = 3, kMost = 1024;
  for (std::int32_t periods = kFewest; periods <= kMost && run.keepPeriods(periods); periods *= 2)
    if (auto cycle = Periods(run.spans(), *run.repetition()).cycle()) return std::move(*cycle);
  return {};
}

} // namespace imbrex::schedule::timeline
