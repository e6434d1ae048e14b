#include "tests/support/without_barriers.h"

#include <algorithm>

namespace imbrex::schedule {

namespace {

bool isOrdering(OpKind kind) {
  switch (kind) {
  case OpKind::Wait:
  case OpKind::Arrive:
  case OpKind::Expect:
  case OpKind::Signal:
  case OpKind::Drain:
  case OpKind::Fence:
  case OpKind::Init: return true;
  case OpKind::Access:
  case OpKind::Copy:
  case OpKind::Issue:
  case OpKind::Commit:
  case OpKind::Meet:
  case OpKind::Advance:
  case OpKind::Reset:
  case OpKind::For:
  case OpKind::If: return false;
  }
  return false;
}

void strip(std::vector<Op> &body) {
  for (Op &op : body) {
    strip(op.body);
    if (op.kind != OpKind::Copy) continue;
    op.barrier = {};
    op.index = {};
  }
  std::erase_if(body, [](const Op &op) {
    return isOrdering(op.kind) || (op.kind == OpKind::If && op.body.empty());
  });
}

} // namespace

Program withoutBarriers(Program program) {
  program.barriers.clear();
  for (Role &role : program.roles) strip(role.body);
  return program;
}

} // namespace imbrex::schedule
