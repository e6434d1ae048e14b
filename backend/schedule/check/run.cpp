#include "backend/schedule/check/run.h"

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
      asks[a] = result == Step::Asks;
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
  const ScheduleOp &op = *instruction.op;
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
  if (!goesOn) return Step::Asks;
  if (loops) {
    ++(model_->isOfAll[op.trips.index()] ? run.asked.ofAll : run.asked.own);
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

Run::Step Run::perform(std::int32_t agent, const ScheduleOp &op) {
  if (op.kind == ScheduleOpKind::Wait) return wait(agent, op);
  if (op.kind == ScheduleOpKind::Meet) return meet(agent, op);
  const std::int32_t time = ++ownClock(agent)[agent];
  switch (op.kind) {
  case ScheduleOpKind::Access: touch(agent, op, {agent, time}, nullptr); break;
  case ScheduleOpKind::Copy: copy(agent, op); break;
  case ScheduleOpKind::Issue: issue(agent, op); break;
  case ScheduleOpKind::Arrive:
  case ScheduleOpKind::Expect:
  case ScheduleOpKind::Signal: arrive(agent, op); break;
  case ScheduleOpKind::Commit: close(queue(agent, op.queue), op); break;
  case ScheduleOpKind::Drain: drain(agent, op); break;
  case ScheduleOpKind::Fence:
    if (model_->hasProxies) std::copy_n(clock(agent), model_->axes, ownClock(agent) + model_->axes);
    break;
  case ScheduleOpKind::Init: make(agent, op); break;
  case ScheduleOpKind::Advance: ++cursor(agent, op.cursor); break;
  case ScheduleOpKind::Reset: cursor(agent, op.cursor) = 0; break;
  case ScheduleOpKind::Wait:
  case ScheduleOpKind::Meet:
  case ScheduleOpKind::For:
  case ScheduleOpKind::If: break;
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

} // namespace imbrex::schedule::check
