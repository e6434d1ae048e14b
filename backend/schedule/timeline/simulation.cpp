#include "backend/schedule/timeline/simulation.h"

#include "backend/schedule/program/channels.h"

#include <algorithm>
#include <limits>
#include <set>

namespace imbrex::schedule::timeline {

namespace {

using check::Control;
using check::Instruction;

bool flies(ScheduleOpKind kind) {
  return kind == ScheduleOpKind::Copy || kind == ScheduleOpKind::Issue;
}

bool mayBlock(ScheduleOpKind kind) {
  return kind == ScheduleOpKind::Wait || kind == ScheduleOpKind::Drain ||
         kind == ScheduleOpKind::Meet;
}

} // namespace

Simulation::Simulation(const check::Model &model, const std::vector<std::int32_t> &trips,
                       const SimulationLimits &limits)
    : model_(model), program_(model.program), trips_(trips), limits_(limits),
      roles_(program_.roles.size()), cursors_(program_.cursors.size()),
      queues_(program_.queues.size()), slots_(static_cast<std::size_t>(model.slots)),
      barriers_(program_.barriers.size()),
      meetings_(static_cast<std::size_t>(model.meetingNumbers)) {
  const std::size_t loops = program_.trips.size();
  for (RoleRun &run : roles_) {
    run.at.assign(loops, 0);
    run.entered.assign(loops, 0);
    run.enteredAt.assign(loops, -1);
  }
  for (std::int32_t slot = 0; slot < model.slots; ++slot)
    slots_[static_cast<std::size_t>(slot)].missing = program_[model.barrierOf(slot)].arrivals;
  std::set<std::string_view> resources;
  std::size_t instructions = 0;
  for (std::size_t role = 0; role < roles_.size(); ++role) {
    firstInstruction_.push_back(instructions);
    instructions += model.code[role].size();
    forEachOp(program_.roles[role].body, [&](const ScheduleOp &op) {
      if (!op.cost.resource.empty()) resources.insert(op.cost.resource);
      longestBusy_ = std::max<std::int64_t>(longestBusy_, op.cost.busy);
    });
  }
  resourceCount_ = resources.size();
  busyInWindow_.resize(resourceCount_);
  tally_.resize(waitPlace(instructions, false));
  studyLoops();
}

std::optional<Diagnostic> Simulation::run() {
  runRoles();
  lookForRepetition();
  while (!events_.empty() && !problem_ && !repetition_) {
    goOn();
    lookForRepetition();
  }
  if (!problem_ && !repetition_ && !std::ranges::all_of(roles_, &RoleRun::isDone)) failStuck();
  return problem_;
}

/// Up to the next time at which something happens.
void Simulation::goOn() {
  now_ = events_.front().time;
  while (!events_.empty() && events_.front().time == now_) {
    const Event event = pop();
    if (!event.wakes) land(event.which);
  }
  runRoles();
}

bool Simulation::keepPeriods(std::int32_t periods) {
  IMBREX_CHECK(repetition_ && repetition_->spans > 0, "no spans of '{0}' repeat themselves",
               program_.name);
  if (out_.spans.empty()) {
    keepFrom_ = repetition_->firstSpan + repetition_->spans;
    limits_.skips = false;
  }
  const std::int64_t wanted = std::int64_t{periods} * repetition_->spans;
  if (wanted > kMostSpans) return false;
  limits_.spans = std::numeric_limits<std::int32_t>::max();
  const auto isKept = [&] { return spansMade_ - keepFrom_ >= wanted; };
  while (!events_.empty() && !problem_ && !isKept()) goOn();
  return !problem_ && isKept();
}

void Simulation::push(Event event) {
  events_.push_back(event);
  std::push_heap(events_.begin(), events_.end());
}

Simulation::Event Simulation::pop() {
  std::pop_heap(events_.begin(), events_.end());
  const Event event = events_.back();
  events_.pop_back();
  return event;
}

void Simulation::runRoles() {
  bool progress = true;
  while (progress && !problem_) {
    progress = false;
    for (std::uint32_t role = 0; role < roles_.size(); ++role)
      while (!roles_[role].isDone && !problem_ && step(RoleId(role)) == Step::Done) progress = true;
  }
}

Simulation::Step Simulation::step(RoleId role) {
  RoleRun &run = roles_[role.index()];
  if (run.busyUntil > now_) return Step::Blocked;
  const Instruction &instruction = model_.code[role.index()][static_cast<std::size_t>(run.pc)];
  if (instruction.control == Control::End) {
    run.isDone = true;
    return Step::Done;
  }
  const ScheduleOp &op = *instruction.op;
  const bool isOp = instruction.control == Control::Do;
  if (!run.isPaying) {
    if (isOp && !passes(role, op)) {
      if (run.blockedSince < 0) run.blockedSince = now_;
      return Step::Blocked;
    }
    if (isOp ? !flies(op.kind) : goesOn(run, instruction)) pay(role, op);
    run.isPaying = run.busyUntil > now_;
    if (run.isPaying) return Step::Blocked;
  }
  run.isPaying = false;
  if (++steps_ > limits_.steps)
    fail(diagnostic(Diag::TimelineTooLong, op.where, program_.name, withTrips(), limits_.steps));
  if (!isOp) return jump(role, instruction), Step::Done;
  perform(role, op);
  ++run.pc;
  return Step::Done;
}

/// Whether the body of a loop or condition is entered.
bool Simulation::goesOn(const RoleRun &run, const Instruction &instruction) const {
  const ScheduleOp &op = *instruction.op;
  if (instruction.control == Control::Test)
    return std::int64_t{run.at[op.trips.index()]} + op.less < trips_[op.trips.index()];
  if (instruction.control != Control::Guard) return false;
  const std::int32_t count = trips_[op.guard.trips.index()], trip = run.at[op.guard.trips.index()];
  switch (op.guard.measure) {
  case Guard::Measure::Count: return count > op.guard.than;
  case Guard::Measure::Done: return trip > op.guard.than;
  case Guard::Measure::Left: return count - trip > op.guard.than;
  }
  return false;
}

void Simulation::jump(RoleId role, const Instruction &instruction) {
  RoleRun &run = roles_[role.index()];
  const ScheduleOp &op = *instruction.op;
  switch (instruction.control) {
  case Control::Enter:
    run.at[op.trips.index()] = op.first;
    ++run.entered[op.trips.index()];
    run.enteredAt[op.trips.index()] = now_;
    ++run.pc;
    return;
  case Control::Back:
    ++run.at[op.trips.index()];
    run.pc = instruction.jump;
    return;
  case Control::Test:
  case Control::Guard: break;
  case Control::Do:
  case Control::End: IMBREX_UNREACHABLE("an operation of '{0}' is no jump", program_[role].name);
  }
  const bool enters = goesOn(run, instruction);
  run.pc = enters ? run.pc + 1 : instruction.jump;
  if (instruction.control == Control::Test) noteTest(role, op.trips, enters);
}

/// A trip begins, or the loop is over.
void Simulation::noteTest(RoleId role, TripsId trips, bool enters) {
  RoleRun &run = roles_[role.index()];
  if (!enters) {
    std::int64_t &since = run.enteredAt[trips.index()];
    tally_[insidePlace(role.index(), trips.index())] += now_ - since;
    since = -1;
    return;
  }
  if (front_[trips.index()] == role) anyBegun_ = hasBegun_[trips.index()] = true;
  if (trips != watched_ || tripStarts_.empty()) return;
  std::vector<std::int64_t> &starts = tripStarts_[role.index()];
  const auto trip = static_cast<std::size_t>(run.at[trips.index()]);
  if (starts.size() <= trip) starts.resize(trip + 1);
  starts[trip] = now_;
}

// --- what a role waits for ---

bool Simulation::passes(RoleId role, const ScheduleOp &op) {
  if (!mayBlock(op.kind)) return true;
  RoleRun &run = roles_[role.index()];
  if (op.kind == ScheduleOpKind::Wait) {
    const std::int32_t depth = program_.depthOf(program_[op.barrier].ring);
    const std::int64_t round = check::roundOfUse(useOf(op.index), depth) + op.flipped;
    // A wait names the parity of a phase, and passes in a phase of the other one.
    if (((slotAt(op.barrier, useOf(op.index)).phase ^ round) & 1) == 0) return false;
  }
  if (op.kind == ScheduleOpKind::Drain) {
    const QueueRun &queue = queues_[op.queue.index()];
    if (queue.entries - queue.entriesDone > op.count) return false;
  }
  if (op.kind == ScheduleOpKind::Meet && !passesMeeting(run, role, op)) return false;
  TimelineSpan span = spanOf(TimelineSpan::Kind::Wait, role, op);
  if (run.blockedSince >= 0) {
    span.issued = span.start = run.blockedSince;
    if (span.cycles() > 0) span.cause = causeOfPassing(op, useOf(op.index));
  }
  run.blockedSince = -1;
  run.last = add(span);
  return true;
}

bool Simulation::passesMeeting(RoleRun &run, RoleId role, const ScheduleOp &op) {
  MeetingRun &meeting = meetings_[static_cast<std::size_t>(model_.meetingOf[op.meeting.index()])];
  if (run.meetingTurn >= 0) {
    if (run.meetingTurn == meeting.phase) return false;
    run.meetingTurn = -1;
    return true;
  }
  meeting.here += warps(role);
  if (meeting.here < program_[op.meeting].parties) {
    run.meetingTurn = meeting.phase;
    return false;
  }
  if (meeting.here > program_[op.meeting].parties)
    failOverfull(op, "meeting", program_[op.meeting].name);
  meeting.here = 0;
  ++meeting.phase;
  meeting.cause = spansMade_; // the last one's own
  return true;
}

std::int32_t Simulation::causeOfPassing(const ScheduleOp &op, std::int64_t use) const {
  if (op.kind == ScheduleOpKind::Wait)
    return slots_[static_cast<std::size_t>(model_.slotOf(op.barrier, use))].cause;
  if (op.kind == ScheduleOpKind::Meet)
    return meetings_[static_cast<std::size_t>(model_.meetingOf[op.meeting.index()])].cause;
  return queues_[op.queue.index()].lastEnded;
}

/// The role is busy with the operation, when its resource is free.
void Simulation::pay(RoleId role, const ScheduleOp &op) {
  if (op.cost.cycles == 0) return;
  RoleRun &run = roles_[role.index()];
  const std::int32_t resource = resourceOf(op);
  const std::int64_t start = freeFrom(resource);
  if (start > now_) {
    TimelineSpan wait = spanOf(TimelineSpan::Kind::Wait, role, op);
    wait.resource = resource;
    wait.end = start;
    wait.cause = resources_[static_cast<std::size_t>(resource)].holder;
    run.last = add(wait);
  }
  TimelineSpan work = spanOf(TimelineSpan::Kind::Work, role, op);
  work.resource = resource;
  work.start = start;
  work.end = run.busyUntil = start + op.cost.cycles;
  run.last = add(work);
  tally_[workPlace(role.index())] += op.cost.cycles;
  take(resource, start, op.cost, run.last);
  push({.time = work.end,
        .wakes = true,
        .number = eventsMade_++,
        .which = static_cast<std::int32_t>(role.index())});
}

// --- what operations do ---

void Simulation::perform(RoleId role, const ScheduleOp &op) {
  RoleRun &run = roles_[role.index()];
  const auto instant = [&] { run.last = add(spanOf(TimelineSpan::Kind::Instant, role, op)); };
  switch (op.kind) {
  case ScheduleOpKind::Copy:
  case ScheduleOpKind::Issue: return send(role, op);
  case ScheduleOpKind::Access:
    if (op.cost.cycles == 0) run.last = add(spanOf(TimelineSpan::Kind::Work, role, op));
    return;
  case ScheduleOpKind::Arrive:
    instant();
    return count(op.barrier, useOf(op.index),
                 {.op = &op, .span = run.last, .arrivals = op.count * warps(role)});
  case ScheduleOpKind::Expect:
    instant();
    return count(op.barrier, useOf(op.index),
                 {.op = &op,
                  .span = run.last,
                  .arrivals = op.count * warps(role),
                  .expected = op.bytes * warps(role)});
  case ScheduleOpKind::Signal: instant(); return signal(role, op, run.last);
  case ScheduleOpKind::Commit: instant(); return close(queues_[op.queue.index()], 1);
  case ScheduleOpKind::Fence:
  case ScheduleOpKind::Init: return instant();
  case ScheduleOpKind::Advance: ++cursors_[op.cursor.index()]; return;
  case ScheduleOpKind::Reset: cursors_[op.cursor.index()] = 0; return;
  case ScheduleOpKind::Wait: // has passed
  case ScheduleOpKind::Drain:
  case ScheduleOpKind::Meet:
  case ScheduleOpKind::For: // are jumps
  case ScheduleOpKind::If: return;
  }
}

// --- failures ---

void Simulation::fail(Diagnostic problem) {
  if (!problem_) problem_ = std::move(problem);
}

void Simulation::failStuck() {
  std::string who;
  Location where;
  for (std::uint32_t role = 0; role < roles_.size(); ++role) {
    const RoleRun &run = roles_[role];
    if (run.isDone) continue;
    const ScheduleOp &op = *model_.code[role][static_cast<std::size_t>(run.pc)].op;
    if (who.empty()) where = op.where;
    who += (who.empty() ? "" : "; ") + describeStuck(RoleId(role), op);
  }
  fail(diagnostic(Diag::TimelineStuck, where, program_.name, withTrips(), now_, who));
}

void Simulation::failOverfull(const ScheduleOp &op, std::string_view what,
                              const std::string &name) {
  fail(diagnostic(Diag::TimelineUnsafe, op.where, now_, program_.name, withTrips(), what, name));
}

/// Not all of them are what somebody asked for where a loop is watched.
std::string Simulation::withTrips() const {
  std::string trips;
  for (std::size_t t = 0; t < trips_.size(); ++t)
    trips += (t == 0 ? " with " : ", ") + program_.trips[t].name + " = " + toText(trips_[t]);
  if (!watched_.valid()) return trips;
  return trips + " (run to tell how long a trip of '" + program_[watched_].name + "' takes)";
}

std::string Simulation::describeStuck(RoleId role, const ScheduleOp &op) const {
  const std::string &what = op.kind == ScheduleOpKind::Meet    ? program_[op.meeting].name
                            : op.kind == ScheduleOpKind::Drain ? program_[op.queue].name
                                                               : program_[op.barrier].name;
  return "'" + program_[role].name + "' in " + std::string(info(op.kind).mnemonic) + " '" + what +
         "'";
}

} // namespace imbrex::schedule::timeline
