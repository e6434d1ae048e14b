#include "backend/schedule/program/attributes.h"

#include <algorithm>

namespace imbrex::schedule {

std::vector<Attribute<Op>> attributesOf(OpKind kind) {
  std::vector<Attribute<Op>> rows;
  if (kind == OpKind::Wait) rows.push_back({"flipped", &Op::flipped});
  if (kind == OpKind::Drain)
    rows.push_back({"to", &Op::count});
  else if (has(kind, kCount)) // bytes may be expected without an arrival
    rows.push_back({"count", &Op::count, kind == OpKind::Expect ? kNotNegative : kPositive});
  if (has(kind, kBytes)) rows.push_back({"bytes", &Op::bytes, kPositive});
  if (has(kind, kLoop)) {
    rows.push_back({"from", &Op::first});
    rows.push_back({"less", &Op::less});
  }
  return rows;
}

Op blank(OpKind kind) {
  return {.kind = kind, .count = kind == OpKind::Drain ? 0 : 1}; // all of a queue is drained
}

std::vector<Operand> operandsOf(OpKind kind) {
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
