#include "backend/schedule/check/trace.h"

#include "backend/schedule/check/run.h"
#include "backend/schedule/check/words.h"

#include <algorithm>
#include <map>

namespace imbrex::schedule::check {

namespace {

/// Trips of a loop that are alike: longer ones than any schedule's are looked for in vain.
constexpr std::size_t kLongestTrip = 64;
/// So many trips that are alike are told by the first and the last of them.
constexpr std::size_t kToldByTwo = 4;

class FailingRunWriter {
public:
  FailingRunWriter(const Model &model, const std::vector<TraceStep> &trace, const NameOf &nameOf)
      : model_(model), trace_(trace), nameOf_(nameOf) {}

  std::vector<std::string> run() {
    for (std::size_t at = 0; at < trace_.size();) {
      const auto [steps, times] = alikeFrom(at);
      if (times < kToldByTwo) {
        say(at++);
        continue;
      }
      for (std::size_t i = 0; i < steps; ++i) say(at++);
      const std::size_t left = times - 2;
      lines_.push_back("… the same " + toText(static_cast<std::int64_t>(left)) + " times more …");
      for (std::size_t i = 0; i < left * steps; ++i) pass(trace_[at++]);
      for (std::size_t i = 0; i < steps; ++i) say(at++);
    }
    return std::move(lines_);
  }

private:
  struct RepeatedSteps {
    std::size_t steps = 1, times = 1;
  };

  /// The shortest sequence of steps from here on that comes often enough to be told by two.
  RepeatedSteps alikeFrom(std::size_t at) const {
    const auto isSame = [&](std::size_t a, std::size_t b) {
      return trace_[a].agent == trace_[b].agent && trace_[a].op == trace_[b].op;
    };
    const std::size_t most = std::min(kLongestTrip, (trace_.size() - at) / kToldByTwo);
    for (std::size_t steps = 1; steps <= most; ++steps) {
      std::size_t end = at + steps;
      while (end < trace_.size() && isSame(end, end - steps)) ++end;
      if (const std::size_t times = (end - at) / steps; times >= kToldByTwo) return {steps, times};
    }
    return {};
  }

  /// Moves the cursors on, which are where they were when the step was made.
  void pass(const TraceStep &step) {
    if (step.op->kind == ScheduleOpKind::Advance) ++cursors_[{step.agent, step.op->cursor}];
    if (step.op->kind == ScheduleOpKind::Reset) cursors_[{step.agent, step.op->cursor}] = 0;
  }

  std::string useOf(std::int32_t agent, const Index &index) {
    if (!index.cursor.valid()) return "";
    return " at use " + toText(cursors_[{agent, index.cursor}] + index.offset);
  }

  void say(std::size_t at) {
    const TraceStep &step = trace_[at];
    const Program &program = model_.program;
    std::string line = nameOf_(step.agent) + ": " + describe(program, *step.op) +
                       useOf(step.agent, step.op->index);
    for (const Access &access : step.op->accesses)
      line += (access.writes ? " writes '" : " reads '") + program[access.buffer].name + "'" +
              useOf(step.agent, access.index);
    if (step.op->where.known()) line += " (" + toText(step.op->where) + ")";
    lines_.push_back(std::move(line));
    pass(step);
  }

  const Model &model_;
  const std::vector<TraceStep> &trace_;
  const NameOf &nameOf_;
  std::map<std::pair<std::int32_t, CursorId>, std::int64_t> cursors_; // by agent
  std::vector<std::string> lines_;
};

} // namespace

std::vector<std::string> linesOf(const Model &model, const std::vector<TraceStep> &trace,
                                 const NameOf &nameOf) {
  return FailingRunWriter(model, trace, nameOf).run();
}

} // namespace imbrex::schedule::check
