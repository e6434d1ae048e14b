#include "backend/schedule/check/run.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

// What agents meet at: phases of barriers, and meetings.
namespace imbrex::schedule::check {

/// As the machine does it: a wait names a parity, and passes when the phase that is not over has
/// the other one. What phase that means follows from what the agent knows to be over.
Run::Step Run::wait(std::int32_t agent, const ScheduleOp &op) {
  const std::int64_t use = useOf(agent, op.index);
  const std::int32_t slot = model_->slotOf(op.barrier, use);
  SlotRun &run = slots_[static_cast<std::size_t>(slot)];
  const std::int32_t axis = model_->axisOfSlot(slot);
  const std::int32_t known = clock(agent)[axis];
  const std::int64_t round =
      roundOfUse(use, model_->program.depthOf(model_->program[op.barrier].ring)) + op.flipped;
  const std::int32_t target = (round & 1) == (known & 1) ? known : known - 1;
  if (run.phase <= target) return Step::Blocked;
  checkMade(agent, op, slot);
  if (run.phase > target + 1) {
    find(Diag::ScheduleParity, op, nameOf(agent), describeSlot(slot), target, run.phase - 1);
    return Step::Done;
  }
  if (target == known) join(agent, rowOfLast(slot)); // which knows that the phase is over
  claim(model_->claimOf(agent, model_->claimsOnSlot(slot)), {.op = &op, .agent = agent});
  return Step::Done;
}

void Run::claim(std::int32_t claim, RecordedAccess touch) {
  const std::int32_t axis = model_->axisOfClaim(claim);
  touch.end = {axis, ++ownClock(touch.agent)[axis]};
  claimed(claim) = touch;
}

/// An arrival must not be able to land in the phase before.
bool Run::mayArrive(std::int32_t agent, const ScheduleOp &op, std::int32_t slot) {
  checkMade(agent, op, slot);
  const std::int32_t phase = slots_[static_cast<std::size_t>(slot)].phase;
  if (clock(agent)[model_->axisOfSlot(slot)] >= phase) return true;
  find(Diag::ScheduleEarlyArrival, op, nameOf(agent), describeSlot(slot), phase, phase - 1);
  return false;
}

void Run::gather(std::int32_t slot, std::int32_t agent, const ScheduleOp &op,
                 const Event *alsoKnown) {
  join(rowOfPhase(slot), agent);
  if (alsoKnown) {
    std::int32_t &seen = ownClock(rowOfPhase(slot))[alsoKnown->axis];
    seen = std::max(seen, alsoKnown->time);
  }
  const SlotRun &run = slots_[static_cast<std::size_t>(slot)];
  if (run.missing == 0 && run.landed > run.expected)
    find(Diag::ScheduleBytes, op, describeSlot(slot), run.phase, run.landed, run.expected);
  if (run.missing == 0 && run.landed == run.expected) endPhase(slot, op);
}

void Run::arrive(std::int32_t agent, const ScheduleOp &op) {
  const std::int32_t slot = model_->slotOf(op.barrier, useOf(agent, op.index));
  if (!mayArrive(agent, op, slot)) return;
  SlotRun &run = slots_[static_cast<std::size_t>(slot)];
  run.missing -= std::int64_t{op.count} * model_->agents[static_cast<std::size_t>(agent)].warps;
  expectMore(run, agent, op);
  if (op.kind == ScheduleOpKind::Expect)
    run.expected += op.bytes * model_->agents[static_cast<std::size_t>(agent)].warps;
  if (run.missing < 0) {
    find(Diag::ScheduleOverArrival, op, nameOf(agent), describeSlot(slot), run.phase,
         model_->program[op.barrier].arrivals);
    return;
  }
  if (run.missing == 0)
    for (const RecordedAccess &expect : run.loneExpects)
      find(Diag::ScheduleLateExpect, *expect.op, nameOf(expect.agent), describeSlot(slot),
           run.phase);
  if (op.kind != ScheduleOpKind::Signal) return gather(slot, agent, op, nullptr);
  // It arrives when the queue's operations have ended, so that they are known to have.
  const Event ended = {model_->axisOf(agent, op.queue), queue(agent, op.queue).ops};
  gather(slot, agent, op, &ended);
}

/// A phase cannot be over before one of its arrivals. Of bytes that are expected without one
/// nothing else says that they count for this phase: it may be over with its last arrival, or when
/// the bytes of other copies have landed.
void Run::expectMore(SlotRun &run, std::int32_t agent, const ScheduleOp &op) {
  if (op.count == 0) {
    run.loneExpects.push_back({.end = {agent, clock(agent)[agent]}, .op = &op, .agent = agent});
    return;
  }
  llvm::erase_if(run.loneExpects, [&](const RecordedAccess &expect) {
    return clock(agent)[expect.end.axis] >= expect.end.time;
  });
}

void Run::endPhase(std::int32_t slot, const ScheduleOp &op) {
  SlotRun &run = slots_[static_cast<std::size_t>(slot)];
  const std::int32_t row = rowOfPhase(slot);
  for (const std::int32_t claim : model_->claimsOnSlot(slot)) {
    RecordedAccess &pass = claimed(claim);
    if (pass.op && clock(row)[pass.end.axis] < pass.end.time)
      find(Diag::ScheduleParity, op, nameOf(pass.agent), describeSlot(slot), run.phase - 1,
           run.phase);
    pass.op = nullptr;
  }
  ++run.phase;
  run.missing = model_->program[model_->barrierOf(slot)].arrivals;
  run.expected = run.landed = 0;
  ownClock(row)[model_->axisOfSlot(slot)] = run.phase;
  clocks_.copy(rowOfLast(slot), row);
  clocks_.clear(row);
}

void Run::make(std::int32_t agent, const ScheduleOp &op) {
  const std::int32_t depth = model_->program.depthOf(model_->program[op.barrier].ring);
  for (std::int32_t number = 0; number < depth; ++number) {
    SlotRun &run = slots_[static_cast<std::size_t>(model_->slotOf(op.barrier, number))];
    run.isMade = true;
    run.made = {agent, clock(agent)[agent]};
  }
}

void Run::checkMade(std::int32_t agent, const ScheduleOp &op, std::int32_t slot) {
  const SlotRun &run = slots_[static_cast<std::size_t>(slot)];
  if (run.isMade && run.made.axis < 0) return;
  const bool isAsync = model_->program.isAsync(op);
  const std::int32_t fenced = isAsync ? model_->axes : 0;
  if (run.isMade && clock(agent)[fenced + run.made.axis] >= run.made.time) return;
  find(Diag::ScheduleUnmade, op, nameOf(agent), describeSlot(slot),
       isAsync && run.isMade ? "a copy or queue that a fence has not let see it"
                             : "nothing orders the two");
}

Run::Step Run::meet(std::int32_t agent, const ScheduleOp &op) {
  const std::int32_t number = model_->meetingOf[op.meeting.index()];
  MeetingRun &run = meetings_[static_cast<std::size_t>(number)];
  AgentRun &self = agents_[static_cast<std::size_t>(agent)];
  const std::int32_t gathering = rowOfMeeting(number);
  const std::int32_t axis = model_->axisOfMeeting(number);
  if (self.meetingTurn >= 0) {
    if (run.phase == self.meetingTurn) return Step::Blocked;
    self.meetingTurn = -1;
    return Step::Done;
  }
  if (run.here > 0 && run.which != op.meeting) {
    find(Diag::ScheduleMixedMeeting, op, nameOf(agent), model_->program[op.meeting].name,
         model_->program[run.which].name, model_->program[op.meeting].number);
    return Step::Done;
  }
  if (clock(agent)[axis] < run.phase) {
    find(Diag::ScheduleEarlyMeeting, op, nameOf(agent), model_->program[op.meeting].name);
    return Step::Done;
  }
  run.which = op.meeting;
  run.here += model_->agents[static_cast<std::size_t>(agent)].warps;
  join(gathering, agent);
  if (run.here > model_->program[op.meeting].parties) {
    find(Diag::ScheduleEarlyMeeting, op, nameOf(agent), model_->program[op.meeting].name);
    return Step::Done;
  }
  if (run.here < model_->program[op.meeting].parties) {
    self.meetingTurn = run.phase;
    ++steps_; // to have arrived is progress, which others may wait for
    return Step::Blocked;
  }
  endMeeting(number);
  join(agent, gathering);
  clocks_.clear(gathering);
  return Step::Done;
}

/// Who has waited learns what the others knew here and now: the next meeting with this number may
/// be over before it goes on.
void Run::endMeeting(std::int32_t number) {
  MeetingRun &run = meetings_[static_cast<std::size_t>(number)];
  const std::int32_t gathering = rowOfMeeting(number), turn = run.phase;
  run.here = 0;
  ownClock(gathering)[model_->axisOfMeeting(number)] = ++run.phase;
  for (std::int32_t agent = 0; agent < agents(); ++agent) {
    const auto a = static_cast<std::size_t>(agent);
    if (agents_[a].meetingTurn != turn) continue;
    const auto &code = model_->code[model_->agents[a].role.index()];
    const ScheduleOp &op = *code[static_cast<std::size_t>(agents_[a].pc)].op;
    if (model_->meetingOf[op.meeting.index()] == number) join(agent, gathering);
  }
}

} // namespace imbrex::schedule::check
