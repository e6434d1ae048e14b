#include "tests/support/without_barriers.h"

#include <algorithm>

namespace imbrex::schedule {

namespace {

bool isOrdering(ScheduleOpKind kind) {
  switch (kind) {
  case ScheduleOpKind::Wait:
  case ScheduleOpKind::Arrive:
  case ScheduleOpKind::Expect:
  case ScheduleOpKind::Signal:
  case ScheduleOpKind::Drain:
  case ScheduleOpKind::Fence:
  case ScheduleOpKind::Init: return true;
  case ScheduleOpKind::Access:
  case ScheduleOpKind::Copy:
  case ScheduleOpKind::Issue:
  case ScheduleOpKind::Commit:
  case ScheduleOpKind::Meet:
  case ScheduleOpKind::Advance:
  case ScheduleOpKind::Reset:
  case ScheduleOpKind::For:
  case ScheduleOpKind::If: return false;
  }
  return false;
}

void strip(std::vector<ScheduleOp> &body) {
  for (ScheduleOp &op : body) {
    strip(op.body);
    if (op.kind != ScheduleOpKind::Copy) continue;
    op.barrier = {};
    op.index = {};
  }
  std::erase_if(body, [](const ScheduleOp &op) {
    return isOrdering(op.kind) || (op.kind == ScheduleOpKind::If && op.body.empty());
  });
}

} // namespace

Program withoutBarriers(Program program) {
  program.barriers.clear();
  for (Role &role : program.roles) strip(role.body);
  return program;
}

} // namespace imbrex::schedule
