#include "backend/schedule/check/run.h"

#include <algorithm>

// What goes on beside the agents: copies, and what is issued to queues.
namespace imbrex::schedule::check {

void Run::copy(std::int32_t agent, const ScheduleOp &op) {
  const std::int32_t slot = model_->slotOf(op.barrier, useOf(agent, op.index));
  if (!mayArrive(agent, op, slot)) return;
  SlotRun &run = slots_[static_cast<std::size_t>(slot)];
  touch(agent, op, {model_->axisOfSlot(slot), run.phase + 1}, nullptr);
  run.landed += op.bytes * model_->agents[static_cast<std::size_t>(agent)].warps;
  gather(slot, agent, op, nullptr);
}

void Run::issue(std::int32_t agent, const ScheduleOp &op) {
  QueueRun &run = queue(agent, op.queue);
  const Queue &kind = model_->program[op.queue];
  const std::int32_t axis = model_->axisOf(agent, op.queue);
  const Event before = {axis, run.ops};
  ++run.ops;
  touch(agent, op, {axis, run.ops}, kind.serial ? &before : nullptr);
  if (!kind.grouped) close(run, op);
}

void Run::close(QueueRun &run, const ScheduleOp &op) {
  run.entries += op.kind == ScheduleOpKind::Commit ? 1 : op.count;
  run.ends.emplace_back(run.entries, run.ops);
  const std::int32_t deepest = model_->deepest[op.queue.index()];
  while (run.ends.size() > 1 && run.entries - run.ends[1].first >= deepest)
    run.ends.erase(run.ends.begin());
}

/// Only the entries that are not among the youngest `count` have ended for certain, whatever has
/// ended in this run.
void Run::drain(std::int32_t agent, const ScheduleOp &op) {
  const QueueRun &run = queue(agent, op.queue);
  std::int32_t &seen = ownClock(agent)[model_->axisOf(agent, op.queue)];
  for (const auto &[entries, ops] : run.ends)
    if (run.entries - entries >= op.count) seen = std::max(seen, ops);
}

} // namespace imbrex::schedule::check
