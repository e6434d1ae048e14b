#include "backend/schedule/plan/compute_groups.h"

#include "backend/schedule/program/channels.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace imbrex::schedule {

namespace {

std::string_view whyNot(const Program &program, const Role &role) {
  std::string_view why;
  if (role.warps % 2 != 0) why = "the warps make no two equal groups";
  forEachOp(role.body, [&](const ScheduleOp &op) {
    for (const Access &access : op.accesses) {
      if (access.part == Part::Own) why = "the warps have parts of their own";
      if (access.writes && program[access.buffer].ring.valid())
        why = "the groups would both fill what another role reads";
    }
  });
  return why;
}

/// The same cursors and queues again, for the other role.
class RoleCloner {
public:
  RoleCloner(Program &program, RoleId role, RoleId twin) : program_(program) {
    cursors_.resize(program.cursors.size());
    for (std::uint32_t c = 0; c < cursors_.size(); ++c) {
      if (program_.cursors[c].role != role) continue;
      cursors_[c] = CursorId(static_cast<std::uint32_t>(program_.cursors.size()));
      Cursor own = program_.cursors[c];
      own.role = twin;
      program_.cursors.push_back(std::move(own));
    }
    queues_.resize(program.queues.size());
    for (std::uint32_t q = 0; q < queues_.size(); ++q) {
      if (program_.queues[q].role != role) continue;
      queues_[q] = QueueId(static_cast<std::uint32_t>(program_.queues.size()));
      Queue own = program_.queues[q];
      own.role = twin;
      program_.queues.push_back(std::move(own));
    }
  }

  void own(std::vector<ScheduleOp> &body) const {
    forEachOp(body, [&](ScheduleOp &op) {
      for (Access &access : op.accesses) own(access.index.cursor);
      own(op.cursor);
      if (op.queue.valid()) op.queue = queues_[op.queue.index()];
    });
  }

private:
  void own(CursorId &cursor) const {
    if (cursor.valid()) cursor = cursors_[cursor.index()];
  }

  Program &program_;
  std::vector<CursorId> cursors_;
  std::vector<QueueId> queues_;
};

/// A ring of one slot without content, whose barrier one group waits at and the other arrives at.
struct TurnRing {
  RingId ring;
  BarrierId barrier;
};

TurnRing makeTurnRing(Program &program, const Role &group, std::int32_t others) {
  const TurnRing turn = {RingId(static_cast<std::uint32_t>(program.rings.size())),
                         BarrierId(static_cast<std::uint32_t>(program.barriers.size()))};
  program.rings.push_back({.name = group.name + "_turns", .depth = 1});
  program.barriers.push_back({.name = group.name + ".turn", .ring = turn.ring, .arrivals = others});
  return turn;
}

CursorId makeCursor(Program &program, std::string name, RoleId role, RingId ring) {
  program.cursors.push_back({.name = std::move(name), .role = role, .ring = ring});
  return CursorId(static_cast<std::uint32_t>(program.cursors.size()) - 1);
}

bool isProduct(const ScheduleOp &op) {
  return op.kind == ScheduleOpKind::Issue || op.kind == ScheduleOpKind::Commit;
}

} // namespace

Cost halved(Cost cost) {
  const std::int32_t saved = cost.busy / 2;
  cost.busy -= saved;
  cost.cycles -= saved;
  return cost;
}

std::optional<GroupRoles> splitInGroups(Program &program, RoleId role, std::string &why) {
  why = whyNot(program, program[role]);
  if (!why.empty()) return std::nullopt;
  const RoleId second(static_cast<std::uint32_t>(program.roles.size()));
  Role &first = program.roles[role.index()];
  first.warps /= 2;
  forEachOp(first.body, [](ScheduleOp &op) { op.cost = halved(op.cost); });
  Role twin = first;
  first.name += "0";
  twin.name += "1";
  RoleCloner(program, role, second).own(twin.body);
  program.roles.push_back(std::move(twin));
  return GroupRoles{role, second};
}

void takeTurns(Program &program, const GroupRoles &groups, TripsId loop) {
  std::array<TurnRing, 2> turns;
  for (const std::size_t group : {0u, 1u})
    turns[group] = makeTurnRing(program, program[groups[group]], program[groups[1 - group]].warps);
  for (const std::size_t group : {0u, 1u}) {
    const CursorId mine = makeCursor(program, "mine", groups[group], turns[group].ring);
    const CursorId theirs = makeCursor(program, "theirs", groups[group], turns[1 - group].ring);
    forEachOp(program.roles[groups[group].index()].body, [&](ScheduleOp &op) {
      if (op.kind != ScheduleOpKind::For || op.trips != loop) return;
      const auto first = llvm::find_if(op.body, isProduct);
      if (first == op.body.end()) return;
      const auto place = std::find_if_not(first, op.body.end(), isProduct) - first;
      const ScheduleOp take = {.kind = ScheduleOpKind::Wait,
                               .barrier = turns[group].barrier,
                               .index = {mine},
                               .flipped = group == 0};
      const ScheduleOp give = {
          .kind = ScheduleOpKind::Arrive, .barrier = turns[1 - group].barrier, .index = {theirs}};
      op.body.insert(op.body.insert(first, take) + 1 + place, give);
      for (const CursorId cursor : {mine, theirs})
        op.body.push_back({.kind = ScheduleOpKind::Advance, .cursor = cursor});
    });
  }
}

} // namespace imbrex::schedule
