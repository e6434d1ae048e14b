#include "backend/schedule/timeline/labels.h"

#include "backend/schedule/timeline/timeline_pictures.h"

#include <algorithm>
#include <cmath>

namespace imbrex::schedule::timeline {

std::string labelOf(const Program &program, const ScheduleOp &op) {
  const std::uint16_t fields = info(op.kind).fields;
  std::string text(info(op.kind).mnemonic);
  if (fields & kQueue && op.kind != ScheduleOpKind::Signal) text += " " + program[op.queue].name;
  if (op.kind == ScheduleOpKind::Drain && op.count > 0) text += " to " + std::to_string(op.count);
  if (fields & kMeeting) text += " " + program[op.meeting].name;
  if (fields & kBarrier && op.kind != ScheduleOpKind::Copy) text += " " + program[op.barrier].name;
  std::vector<std::string> names;
  for (const Access &access : op.accesses) {
    const std::string &name = program[access.buffer].name;
    if (std::ranges::find(names, name) != names.end()) continue;
    text += (names.empty() ? " " : ", ") + name;
    names.push_back(name);
  }
  return text;
}

std::string labelOf(const Program &program, const TimelineSpan &span) {
  const std::string text = labelOf(program, *span.op);
  return span.use == kNoUse ? text : text + " " + std::to_string(span.use);
}

RingId ringOf(const Program &program, const ScheduleOp &op) {
  if (info(op.kind).fields & kBarrier && program[op.barrier].ring.valid())
    return program[op.barrier].ring;
  for (const Access &access : op.accesses)
    if (program[access.buffer].ring.valid()) return program[access.buffer].ring;
  return {};
}

std::int32_t Tracks::laneFor(const TimelineSpan &span) {
  auto lane = std::ranges::find_if(freeAt_, [&](std::int64_t at) { return at <= span.start; });
  if (lane == freeAt_.end()) lane = freeAt_.insert(lane, 0);
  *lane = span.end;
  return static_cast<std::int32_t>(lane - freeAt_.begin());
}

std::vector<Handover> handoversOf(const Program &program, const Timeline &timeline) {
  struct Use {
    std::int32_t writer = kNoSpan;
    std::vector<RoleId> readBy = {};
  };
  std::map<std::pair<std::uint32_t, std::int64_t>, Use> uses;
  const auto forEachUse = [&](const TimelineSpan &span, bool writes, const auto &visit) {
    if (span.kind != TimelineSpan::Kind::Work && span.kind != TimelineSpan::Kind::Flight) return;
    for (std::size_t i = 0; i < span.op->accesses.size(); ++i) {
      const Access &access = span.op->accesses[i];
      const RingId ring = program[access.buffer].ring;
      if (access.writes != writes || !ring.valid()) continue;
      visit(uses[{ring.index(), timeline.accessUses[static_cast<std::size_t>(span.firstUse) + i]}]);
    }
  };
  const auto count = static_cast<std::int32_t>(timeline.spans.size());
  const auto at = [&](std::int32_t span) -> const TimelineSpan & {
    return timeline.spans[static_cast<std::size_t>(span)];
  };
  for (std::int32_t s = 0; s < count; ++s)
    forEachUse(at(s), true, [&](Use &use) { use.writer = s; });
  std::vector<Handover> found;
  for (std::int32_t s = 0; s < count; ++s)
    forEachUse(at(s), false, [&](Use &use) {
      if (use.writer == kNoSpan || at(s).start < at(use.writer).end) return;
      if (std::ranges::find(use.readBy, at(s).role) != use.readBy.end()) return;
      use.readBy.push_back(at(s).role);
      found.push_back({.writer = use.writer, .reader = s});
    });
  return found;
}

std::string percent(double share) { return std::to_string(std::lround(share * 100)) + " %"; }

} // namespace imbrex::schedule::timeline
