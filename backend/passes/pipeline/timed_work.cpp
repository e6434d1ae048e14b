#include "backend/passes/pipeline/timed_work.h"

#include "backend/ir/products.h"
#include "backend/ir/ring_bytes.h"
#include "backend/passes/pipeline/register_loads.h"

#include <string_view>
#include <utility>

namespace imbrex::passes::pipeline {

using namespace ir;
using schedule::ScheduleOp;
using schedule::ScheduleOpKind;
using QueueOf = ProgramParts::QueueOf;

namespace {

void addLanes(std::int64_t cycles, const Location &where, TimedWork::Ops &ops) {
  if (cycles == 0) return;
  const ScheduleOp own{.kind = ScheduleOpKind::Access, .where = where};
  const bool goesOn = !ops.empty() && ops.back().kind == ScheduleOpKind::Access &&
                      ops.back().accesses.empty() && ops.back().cost.resource == kLanes;
  if (!goesOn) ops.push_back(own);
  ops.back().cost = costOn(kLanes, cycles + ops.back().cost.cycles);
}

} // namespace

void TimedWork::add(const Op &op, Ops &ops) {
  if (ahead_.contains(&op)) return addLoadAhead(op, ops);
  const schedule::Cost memory = memoryCost(kernel_, op, machine_.asyncCopies);
  if (memory.cycles > 0)
    return ops.push_back({.kind = ScheduleOpKind::Access, .cost = memory, .where = op.where});
  if (fragments_.contains(&op)) return; // beginTrip has counted it
  addWork(workOf(kernel_, op, machine_), {.kind = ScheduleOpKind::Access, .where = op.where}, ops);
}

// It lands beside all that the trip computes, which waits for it at its end.
void TimedWork::addLoadAhead(const Op &op, Ops &ops) {
  const schedule::QueueId loads = parts_.queue(QueueOf::Loads);
  ops.push_back({.kind = ScheduleOpKind::Issue,
                 .queue = loads,
                 .cost = memoryCost(kernel_, op, machine_.asyncCopies, source_),
                 .where = op.where});
  ops.push_back({.kind = ScheduleOpKind::Commit, .queue = loads, .where = op.where});
}

void TimedWork::beginTrip(const Op &loop) {
  const std::set<const Op *> ahead = loadsAheadInRegisters(loop);
  ahead_.insert(ahead.begin(), ahead.end());
  carried_ = {};
  for (const Op *op : carriedFragments(kernel_, loop)) {
    fragments_.insert(op);
    carried_ +=
        isProduct(*op) ? workOf(kernel_, *op, machine_) : workToLoad(kernel_, *op, machine_);
  }
}

// What is loaded ahead has landed.
void TimedWork::endTrip(const Op &loop, Ops &ops) {
  if (!loadsAheadInRegisters(loop).empty())
    ops.push_back({.kind = ScheduleOpKind::Drain,
                   .count = 0,
                   .queue = parts_.queue(QueueOf::Loads),
                   .where = loop.where});
}

// Fragments are read beside the products, which wait for the last of them at their end: those that
// the last trip has left, too, and those for the next.
void TimedWork::addWork(Work work, const ScheduleOp &access, Ops &ops) {
  const auto add = [&](std::string_view resource, std::int64_t cycles) {
    if (cycles == 0) return;
    ops.push_back(access);
    ops.back().cost = costOn(resource, cycles);
  };
  const bool isBeside = work.units > 0 && work.shared > 0;
  if (isBeside) {
    work += std::exchange(carried_, {});
    const schedule::QueueId fragments = parts_.queue(QueueOf::Fragments);
    add(kSharedMemory, work.shared);
    ops.back().kind = ScheduleOpKind::Issue;
    ops.back().queue = fragments;
    ops.push_back({.kind = ScheduleOpKind::Commit, .queue = fragments, .where = access.where});
    add(kMatrixUnits, work.units);
    ops.push_back(
        {.kind = ScheduleOpKind::Drain, .count = 0, .queue = fragments, .where = access.where});
  } else {
    add(kMatrixUnits, work.units);
    add(kSharedMemory, work.shared);
  }
  addLanes(work.lanes, access.where, ops);
}

void TimedWork::addReads(const Op &op, std::int64_t bytes, ScheduleOp access, Ops &ops) {
  if (fragments_.contains(&op)) return ops.push_back(std::move(access));
  Work work = workOf(kernel_, op, machine_);
  if (work.units > 0) return addWork(work, access, ops);
  work += workToRead(bytes, machine_);
  access.cost = combinedCost(work);
  ops.push_back(std::move(access));
}

schedule::Cost TimedWork::costOf(const Op &op) const {
  if (op.kind == OpKind::RingStore)
    return combinedCost(workToRead(slotBytes(kernel_, op.operand(0)), machine_));
  const bool isCopy = op.kind == OpKind::RingLoadBox || op.kind == OpKind::RingCopy ||
                      op.kind == OpKind::RingCopyBox;
  if (!isCopy) return {};
  return copyCost(machine_.asyncCopies, slotBytes(kernel_, op.operand(0)), source_);
}

} // namespace imbrex::passes::pipeline
