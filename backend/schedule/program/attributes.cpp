#include "backend/schedule/program/attributes.h"

#include <algorithm>

namespace imbrex::schedule {

std::vector<Attribute<ScheduleOp>> attributesOf(ScheduleOpKind kind) {
  std::vector<Attribute<ScheduleOp>> rows;
  if (kind == ScheduleOpKind::Wait) rows.push_back({"flipped", &ScheduleOp::flipped});
  if (kind == ScheduleOpKind::Drain)
    rows.push_back({"to", &ScheduleOp::count});
  else if (has(kind, kCount)) // bytes may be expected without an arrival
    rows.push_back(
        {"count", &ScheduleOp::count, kind == ScheduleOpKind::Expect ? kNotNegative : kPositive});
  if (has(kind, kBytes)) rows.push_back({"bytes", &ScheduleOp::bytes, kPositive});
  if (has(kind, kLoop)) {
    rows.push_back({"from", &ScheduleOp::first});
    rows.push_back({"less", &ScheduleOp::less});
  }
  return rows;
}

ScheduleOp blank(ScheduleOpKind kind) {
  return {.kind = kind,
          .count = kind == ScheduleOpKind::Drain ? 0 : 1}; // all of a queue is drained
}

std::vector<Operand> operandsOf(ScheduleOpKind kind) {
  constexpr auto kWithAccesses =
      std::to_array<Operand>({{kQueue, ""}, {kAccesses, ""}, {kBarrier, "to", true}});
  constexpr auto kWithout = std::to_array<Operand>({{kBarrier, ""},
                                                    {kQueue, "after"},
                                                    {kMeeting, ""},
                                                    {kCursor, ""},
                                                    {kLoop, ""},
                                                    {kGuard, ""}});
  std::vector<Operand> operands;
  const auto add = [&](Operand operand) {
    if (!has(kind, operand.field)) return;
    operands.push_back(operand);
    if (operands.size() == 1) operands[0].word = "";
  };
  if (has(kind, kAccesses))
    std::ranges::for_each(kWithAccesses, add);
  else
    std::ranges::for_each(kWithout, add);
  return operands;
}

} // namespace imbrex::schedule
