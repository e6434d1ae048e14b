#include "backend/schedule/check/run.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace imbrex::schedule::check {

Run::Run(const Model &model, const TripCount *fixedTrips)
    : model_(&model), width_(static_cast<std::size_t>(model.width)),
      trips_(model.program, fixedTrips), agents_(model.agents.size()),
      cursors_(model.agents.size() * model.program.cursors.size()),
      queues_(static_cast<std::size_t>(model.queues())),
      slots_(static_cast<std::size_t>(model.slots)),
      meetings_(static_cast<std::size_t>(model.meetingNumbers)),
      cells_(static_cast<std::size_t>(model.cells)), claims_(model.claims.size()),
      clocks_(static_cast<std::size_t>(rowOfMeeting(model.meetingNumbers)), width_) {
  for (AgentRun &agent : agents_) agent.at.assign(model.program.trips.size(), kBefore);
  if (agents() == 0) return;
  // Before its first, each claim has one that all know of, and who waits learns of: so a slot that
  // was never used can be like one that was (signature.h).
  std::fill_n(ownClock(0) + model.axisOfClaim(0), model.claims.size(), 1);
  for (std::int32_t agent = 1; agent < agents(); ++agent) clocks_.copy(agent, 0);
  for (std::int32_t slot = 0; slot < model.slots; ++slot) clocks_.copy(rowOfLast(slot), 0);
  for (std::int32_t slot = 0; slot < model.slots; ++slot) {
    SlotRun &run = slots_[static_cast<std::size_t>(slot)];
    run.missing = model.program[model.barrierOf(slot)].arrivals;
    run.isMade = !model.isMade[model.barrierOf(slot).index()];
  }
}

/// Every agent goes as far as it can with the trips that are decided. Then the one that has asked
/// the least gets its answer, so that none runs far ahead of another that could follow.
Run::Outcome Run::proceed() {
  std::vector<bool> asks(agents_.size());
  bool progress = true;
  while (progress) {
    progress = false;
    for (std::int32_t agent = 0; agent < agents(); ++agent) {
      const auto a = static_cast<std::size_t>(agent);
      if (agents_[a].isDone || asks[a]) continue;
      const std::int64_t before = steps_;
      Step result = Step::Done;
      while (result == Step::Done && !isTooLong()) result = step(agent);
      if (isTooLong()) return Outcome::Tires;
      if (!findings_.empty()) return Outcome::Fails;
      asks[a] = result == Step::LastTripUses;
      progress |= steps_ != before || result == Step::Ended;
    }
  }
  std::int32_t first = -1;
  for (std::int32_t agent = 0; agent < agents(); ++agent)
    if (asks[static_cast<std::size_t>(agent)] &&
        (first < 0 || agents_[static_cast<std::size_t>(agent)].asked <
                          agents_[static_cast<std::size_t>(first)].asked))
      first = agent;
  if (first >= 0) {
    step(first); // once more, to ask last
    return Outcome::Forks;
  }
  const bool allDone = std::ranges::all_of(agents_, &AgentRun::isDone);
  if (allDone)
    checkEnd();
  else
    reportStuck();
  return findings_.empty() ? Outcome::Ends : Outcome::Fails;
}

std::int64_t Run::bytes() const {
  const std::size_t rows = static_cast<std::size_t>(rowOfMeeting(model_->meetingNumbers));
  return static_cast<std::int64_t>(
      slots_.size() * sizeof(SlotRun) + cells_.size() * sizeof(Cell) +
      claims_.size() * sizeof(RecordedAccess) + queues_.size() * sizeof(QueueRun) +
      agents_.size() * sizeof(AgentRun) + rows * sizeof(std::shared_ptr<void>));
}

Run::Step Run::step(std::int32_t agent) {
  ++looks_;
  AgentRun &run = agents_[static_cast<std::size_t>(agent)];
  const auto &code = model_->code[model_->agents[static_cast<std::size_t>(agent)].role.index()];
  const Instruction &instruction = code[static_cast<std::size_t>(run.pc)];
  if (instruction.control != Control::Do) return control(agent, instruction);
  const Step result = perform(agent, *instruction.op);
  if (result != Step::Done) return result;
  ++run.pc;
  ++steps_;
  if (trace_) trace_->push_back({agent, instruction.op});
  return Step::Done;
}

Run::Step Run::control(std::int32_t agent, const Instruction &instruction) {
  AgentRun &run = agents_[static_cast<std::size_t>(agent)];
  if (instruction.control == Control::End) {
    run.isDone = true;
    return Step::Ended;
  }
  const Op &op = *instruction.op;
  if (instruction.control == Control::Enter) {
    run.at[op.trips.index()] = op.first;
    ++run.pc;
    return Step::Done;
  }
  if (instruction.control == Control::Back) {
    ++run.at[op.trips.index()];
    for (const TripsId inner : model_->tripsIn[op.trips.index()]) run.at[inner.index()] = kBefore;
    run.pc = instruction.jump;
    return Step::Done;
  }
  const bool loops = instruction.control == Control::Test;
  const std::optional<bool> goesOn =
      loops ? trips_.isMoreThan(op.trips, run.at, std::int64_t{run.at[op.trips.index()]} + op.less)
            : holds(op.guard, run.at);
  if (!goesOn) return Step::LastTripUses;
  if (loops) {
    ++run.asked;
    if (!*goesOn) run.at[op.trips.index()] = kBehind;
  }
  run.pc = *goesOn ? run.pc + 1 : instruction.jump;
  return Step::Done;
}

std::optional<bool> Run::holds(const Guard &guard, const Position &at) {
  const std::int32_t trip = at[guard.trips.index()];
  switch (guard.measure) {
  case Guard::Measure::Done: return trip > guard.than;
  case Guard::Measure::Left:
    return trips_.isMoreThan(guard.trips, at, std::int64_t{trip} + guard.than);
  case Guard::Measure::Count: return trips_.isMoreThan(guard.trips, at, guard.than);
  }
  return true;
}

void Run::forgetTrips() {
  const auto mayComeTo = [&](std::size_t agent, const Instance &instance) {
    if (agents_[agent].isDone) return false;
    const LastTripUses &asks =
        model_->asks[model_->agents[agent].role.index()][instance.trips.index()];
    if (asks.forAny < 0) return false;
    const auto around = tripsAround(model_->program, instance.trips, agents_[agent].at);
    if (!std::ranges::equal(instance.around, around))
      return std::ranges::lexicographical_compare(around, instance.around);
    return asks.isRepeated || agents_[agent].pc <= asks.forAny;
  };
  trips_.forget([&](const Instance &instance) {
    for (std::size_t agent = 0; agent < agents_.size(); ++agent)
      if (mayComeTo(agent, instance)) return false;
    return true;
  });
}

Horizon Run::horizon() const {
  Horizon known(static_cast<std::size_t>(model_->axisOfClaim(0)),
                std::numeric_limits<std::int32_t>::max());
  for (std::int32_t agent = 0; agent < agents(); ++agent) {
    if (agents_[static_cast<std::size_t>(agent)].isDone) continue;
    const std::int32_t *own = clock(agent);
    for (std::size_t place = 0; place < known.size(); ++place)
      known[place] = std::min(known[place], own[place]);
  }
  return known;
}

void Run::forgetKnown() {
  const Horizon known = horizon();
  const auto isKnown = [&](const Event &event) {
    return known[static_cast<std::size_t>(event.axis)] >= event.time;
  };
  for (std::int32_t c = 0; c < model_->cells; ++c) {
    Cell &cell = cells_[static_cast<std::size_t>(c)];
    if (cell.write.op && isWriteOver(cell.write, c)) cell.write.end = {};
    llvm::erase_if(cell.reads, [&](const RecordedAccess &read) { return isReadOver(read, c); });
  }
  for (SlotRun &slot : slots_) {
    if (!slot.isMade || slot.made.axis < 0 || !isKnown(slot.made)) continue;
    const bool isSeen =
        !model_->hasProxies || isKnown({model_->axes + slot.made.axis, slot.made.time});
    if (isSeen) slot.made = {};
  }
  for (std::int32_t agent = 0; agent < agents(); ++agent) {
    const RoleId role = model_->agents[static_cast<std::size_t>(agent)].role;
    for (std::uint32_t q = 0; q < model_->program.queues.size(); ++q) {
      if (model_->program.queues[q].role != role) continue;
      const std::int32_t drained = clock(agent)[model_->axisOf(agent, QueueId(q))];
      llvm::erase_if(queue(agent, QueueId(q)).ends,
                     [&](const auto &end) { return end.second <= drained; });
    }
  }
}

Run::Step Run::perform(std::int32_t agent, const Op &op) {
  if (op.kind == OpKind::Wait) return wait(agent, op);
  if (op.kind == OpKind::Meet) return meet(agent, op);
  const std::int32_t time = ++ownClock(agent)[agent];
  switch (op.kind) {
  case OpKind::Access: touch(agent, op, {agent, time}, nullptr); break;
  case OpKind::Copy: copy(agent, op); break;
  case OpKind::Issue: issue(agent, op); break;
  case OpKind::Arrive:
  case OpKind::Expect:
  case OpKind::Signal: arrive(agent, op); break;
  case OpKind::Commit: close(queue(agent, op.queue), op); break;
  case OpKind::Drain: drain(agent, op); break;
  case OpKind::Fence:
    if (model_->hasProxies) std::copy_n(clock(agent), model_->axes, ownClock(agent) + model_->axes);
    break;
  case OpKind::Init: make(agent, op); break;
  case OpKind::Advance: ++cursor(agent, op.cursor); break;
  case OpKind::Reset: cursor(agent, op.cursor) = 0; break;
  case OpKind::Wait:
  case OpKind::Meet:
  case OpKind::For:
  case OpKind::If: break;
  }
  return Step::Done;
}

std::int64_t Run::useOf(std::int32_t agent, const Index &index) const {
  if (!index.cursor.valid()) return 0;
  return cursors_[static_cast<std::size_t>(agent) * model_->program.cursors.size() +
                  index.cursor.index()] +
         index.offset;
}

void Run::join(std::int32_t into, std::int32_t from) {
  if (clocks_.areShared(into, from)) return;
  std::int32_t *to = ownClock(into);
  const std::int32_t *of = clock(from);
  for (std::size_t axis = 0; axis < width_; ++axis) to[axis] = std::max(to[axis], of[axis]);
}

// --- barriers ---

/// As the machine does it: a wait names a parity, and passes when the phase that is not over has
/// the other one. What phase that means follows from what the agent knows to be over.
Run::Step Run::wait(std::int32_t agent, const Op &op) {
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
bool Run::mayArrive(std::int32_t agent, const Op &op, std::int32_t slot) {
  checkMade(agent, op, slot);
  const std::int32_t phase = slots_[static_cast<std::size_t>(slot)].phase;
  if (clock(agent)[model_->axisOfSlot(slot)] >= phase) return true;
  find(Diag::ScheduleEarlyArrival, op, nameOf(agent), describeSlot(slot), phase, phase - 1);
  return false;
}

void Run::gather(std::int32_t slot, std::int32_t agent, const Op &op, const Event *alsoKnown) {
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

void Run::arrive(std::int32_t agent, const Op &op) {
  const std::int32_t slot = model_->slotOf(op.barrier, useOf(agent, op.index));
  if (!mayArrive(agent, op, slot)) return;
  SlotRun &run = slots_[static_cast<std::size_t>(slot)];
  run.missing -= std::int64_t{op.count} * model_->agents[static_cast<std::size_t>(agent)].warps;
  expectMore(run, agent, op);
  if (op.kind == OpKind::Expect)
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
  if (op.kind != OpKind::Signal) return gather(slot, agent, op, nullptr);
  // It arrives when the queue's operations have ended, so that they are known to have.
  const Event ended = {model_->axisOf(agent, op.queue), queue(agent, op.queue).ops};
  gather(slot, agent, op, &ended);
}

/// A phase cannot be over before one of its arrivals. Of bytes that are expected without one
/// nothing else says that they count for this phase: it may be over with its last arrival, or when
/// the bytes of other copies have landed.
void Run::expectMore(SlotRun &run, std::int32_t agent, const Op &op) {
  if (op.count == 0) {
    run.loneExpects.push_back({.end = {agent, clock(agent)[agent]}, .op = &op, .agent = agent});
    return;
  }
  llvm::erase_if(run.loneExpects, [&](const RecordedAccess &expect) {
    return clock(agent)[expect.end.axis] >= expect.end.time;
  });
}

void Run::endPhase(std::int32_t slot, const Op &op) {
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

void Run::make(std::int32_t agent, const Op &op) {
  const std::int32_t depth = model_->program.depthOf(model_->program[op.barrier].ring);
  for (std::int32_t number = 0; number < depth; ++number) {
    SlotRun &run = slots_[static_cast<std::size_t>(model_->slotOf(op.barrier, number))];
    run.isMade = true;
    run.made = {agent, clock(agent)[agent]};
  }
}

void Run::checkMade(std::int32_t agent, const Op &op, std::int32_t slot) {
  const SlotRun &run = slots_[static_cast<std::size_t>(slot)];
  if (run.isMade && run.made.axis < 0) return;
  const bool isAsync = model_->program.isAsync(op);
  const std::int32_t fenced = isAsync ? model_->axes : 0;
  if (run.isMade && clock(agent)[fenced + run.made.axis] >= run.made.time) return;
  find(Diag::ScheduleUnmade, op, nameOf(agent), describeSlot(slot),
       isAsync && run.isMade ? "a copy or queue that a fence has not let see it"
                             : "nothing orders the two");
}

Run::Step Run::meet(std::int32_t agent, const Op &op) {
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
    const Op &op = *code[static_cast<std::size_t>(agents_[a].pc)].op;
    if (model_->meetingOf[op.meeting.index()] == number) join(agent, gathering);
  }
}

// --- copies and queues ---

void Run::copy(std::int32_t agent, const Op &op) {
  const std::int32_t slot = model_->slotOf(op.barrier, useOf(agent, op.index));
  if (!mayArrive(agent, op, slot)) return;
  SlotRun &run = slots_[static_cast<std::size_t>(slot)];
  touch(agent, op, {model_->axisOfSlot(slot), run.phase + 1}, nullptr);
  run.landed += op.bytes * model_->agents[static_cast<std::size_t>(agent)].warps;
  gather(slot, agent, op, nullptr);
}

void Run::issue(std::int32_t agent, const Op &op) {
  QueueRun &run = queue(agent, op.queue);
  const Queue &kind = model_->program[op.queue];
  const std::int32_t axis = model_->axisOf(agent, op.queue);
  const Event before = {axis, run.ops};
  ++run.ops;
  touch(agent, op, {axis, run.ops}, kind.serial ? &before : nullptr);
  if (!kind.grouped) close(run, op);
}

void Run::close(QueueRun &run, const Op &op) {
  run.entries += op.kind == OpKind::Commit ? 1 : op.count;
  run.ends.emplace_back(run.entries, run.ops);
  const std::int32_t deepest = model_->deepest[op.queue.index()];
  while (run.ends.size() > 1 && run.entries - run.ends[1].first >= deepest)
    run.ends.erase(run.ends.begin());
}

/// Only the entries that are not among the youngest `count` have ended for certain, whatever has
/// ended in this run.
void Run::drain(std::int32_t agent, const Op &op) {
  const QueueRun &run = queue(agent, op.queue);
  std::int32_t &seen = ownClock(agent)[model_->axisOf(agent, op.queue)];
  for (const auto &[entries, ops] : run.ends)
    if (run.entries - entries >= op.count) seen = std::max(seen, ops);
}

} // namespace imbrex::schedule::check
