#include "backend/schedule/program/attributes.h"
#include "backend/schedule/program/channels.h"
#include "backend/schedule/timeline/simulation.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

// When a run repeats itself: at the trips of a loop its state is written down with all that is over
// left out, times as how long they are ahead, and uses as how far they are from the ring's first
// cursor. What follows depends on nothing else, as long as no condition tells trips apart: in which
// trip of a loop a role is, then matters to nobody, if it has not left the loop in between.
//
//   trips of 'load' and 'compute'   state               the run
//   k = 4 and 2, cycle 700          2 slots full, …     goes on
//   k = 6 and 4, cycle 1428         the same            skips 728 cycles for each two trips more
//   k = 996 and 994, cycle 361788   the same            goes on with the last trips
namespace imbrex::schedule::timeline {

namespace {

/// Of the states that are kept, in some ten megabytes.
constexpr std::size_t kMostNumbers = 1'000'000;
/// Looking for what repeats itself takes no longer than the run: so many numbers of states for a
/// step, and some for a start.
constexpr std::int64_t kLooksForStep = 16, kFreeLooks = 1'000'000;

} // namespace

void Simulation::watch(TripsId loop) {
  watched_ = loop;
  tripStarts_.assign(roles_.size(), {});
  for (const Role &role : program_.roles) {
    std::int32_t loops = 0;
    forEachOp(role.body, [&](const ScheduleOp &op) {
      loops += op.kind == ScheduleOpKind::For && op.trips == loop;
    });
    runsTwice_ |= loops > 1;
  }
}

namespace {

/// Marks which loops of a body stand in which.
void noteLoops(const std::vector<ScheduleOp> &body, std::vector<TripsId> &around, std::size_t loops,
               std::vector<bool> &isInside) {
  for (const ScheduleOp &op : body) {
    if (op.kind == ScheduleOpKind::For) {
      for (const TripsId outer : around) isInside[op.trips.index() * loops + outer.index()] = true;
      around.push_back(op.trips);
    }
    noteLoops(op.body, around, loops, isInside);
    if (op.kind == ScheduleOpKind::For) around.pop_back();
  }
}

} // namespace

void Simulation::studyLoops() {
  const std::size_t loops = program_.trips.size();
  front_.resize(loops);
  hasBegun_.resize(loops);
  visits_.resize(loops);
  firstTrip_.resize(loops);
  std::vector<std::int32_t> fewestLeft(loops);
  for (std::uint32_t role = 0; role < roles_.size(); ++role) {
    forEachOp(program_.roles[role].body, [&](const ScheduleOp &op) {
      const auto leave = [&](TripsId trips, std::int32_t left) {
        fewestLeft[trips.index()] = std::max(fewestLeft[trips.index()], left);
      };
      if (op.kind == ScheduleOpKind::If && op.guard.measure == Guard::Measure::Left)
        leave(op.guard.trips, op.guard.than);
      if (op.kind != ScheduleOpKind::For) return;
      leave(op.trips, op.less);
      if (!front_[op.trips.index()].valid()) front_[op.trips.index()] = RoleId(role);
    });
    std::vector<TripsId> around;
    noteLoops(program_.roles[role].body, around, loops,
              isInside_.emplace_back(std::vector<bool>(loops * loops)));
  }
  for (std::size_t loop = 0; loop < loops; ++loop) {
    firstTrip_[loop] = std::int64_t{model_.mostDone[loop]} + 1;
    lastTrip_.push_back(trips_[loop] - fewestLeft[loop] - 1);
  }
  chooseOrigins();
}

/// Each ring's first cursor. Where one is set back, only its place says in which slot it is next.
void Simulation::chooseOrigins() {
  origins_.assign(program_.rings.size(), CursorId());
  for (std::uint32_t c = 0; c < program_.cursors.size(); ++c) {
    CursorId &origin = origins_[program_.cursors[c].ring.index()];
    if (!origin.valid()) origin = CursorId(c);
  }
  for (const Role &role : program_.roles)
    forEachOp(role.body, [&](const ScheduleOp &op) {
      if (op.kind == ScheduleOpKind::Reset) origins_[program_[op.cursor].ring.index()] = CursorId();
    });
}

std::int64_t Simulation::origin(RingId ring) const {
  if (!ring.valid() || !origins_[ring.index()].valid()) return 0;
  return cursors_[origins_[ring.index()].index()];
}

std::map<std::string, std::int64_t> Simulation::busy() const {
  std::map<std::string, std::int64_t> busy;
  for (std::size_t r = 0; r < out_.resources.size(); ++r)
    busy[out_.resources[r].name] += tally_[busyPlace(r)];
  for (std::size_t role = 0; role < roles_.size(); ++role)
    if (const std::int64_t worked = tally_[workPlace(role)]; worked > 0)
      busy[std::string(kBusyRole) + program_.roles[role].name] += worked;
  return busy;
}

// --- what is looked at ---

void Simulation::lookForRepetition() {
  if (!anyBegun_ || problem_) return;
  anyBegun_ = false;
  for (std::uint32_t loop = 0; loop < hasBegun_.size() && !repetition_ && !problem_; ++loop)
    if (hasBegun_[loop]) {
      hasBegun_[loop] = false;
      lookAt(TripsId(loop));
    }
}

/// Outer loops come first: what repeats itself in them takes in all that does so in others.
void Simulation::lookAt(TripsId loop) {
  const bool maySkip = limits_.skips && spansMade_ - keepFrom_ >= limits_.spans;
  if (!maySkip && loop != watched_) return;
  if (looked_ > kFreeLooks + kLooksForStep * steps_) return;
  Visit *const earlier = earlierLike(visits_[loop.index()], state(loop));
  if (!earlier) return;
  if (!repeats(*earlier)) {
    *earlier = visitNow();
    return;
  }
  if (const std::int32_t trips = tripsOfWatched(*earlier); trips > 0) {
    repetition_ = {.trips = trips, .cycles = now_ - earlier->time, .busy = {}};
    const Tally now = std::exchange(tally_, earlier->tally);
    const auto before = busy();
    tally_ = now;
    repetition_->busy = busy();
    for (const auto &[who, cycles] : before) repetition_->busy[who] -= cycles;
    repetition_->firstSpan = earlier->span;
    repetition_->spans = earlier->skips == skips_ ? spansMade_ - earlier->span : 0;
    return;
  }
  const Visit since = std::exchange(*earlier, visitNow());
  const std::int64_t period = now_ - since.time, times = maySkip ? timesAlike(since) : 0;
  if (period > 0 && times > (kMostCycles - now_) / period)
    return fail(
        diagnostic(Diag::TimelineTooLate, program_.where, program_.name, withTrips(), kMostCycles));
  const std::int64_t fitting = std::min(times, timesInWindow(period));
  if (fitting == 0) return;
  skip(since, fitting);
  *earlier = visitNow(); // from which the next one is not far
}

/// The state as it was before, to be told anew; null where it was not, and is kept now.
Simulation::Visit *Simulation::earlierLike(Visits &visits, State state) {
  looked_ += std::ssize(state);
  ++visits.looks;
  if (const auto at = visits.all.find(state); at != visits.all.end()) return &at->second;
  if (!visits.state.empty() && visits.state == state) return &visits.visit;
  const std::size_t numbers = state.size() + tally_.size() + cursors_.size();
  if (visits.numbers + numbers <= kMostNumbers) {
    visits.numbers += numbers;
    visits.all.emplace(std::move(state), visitNow());
  } else if (visits.looks >= visits.replaceAt) {
    visits.replaceAt = 2 * visits.looks;
    visits.state = std::move(state);
    visits.visit = visitNow();
  }
  return nullptr;
}

Simulation::Visit Simulation::visitNow() const {
  Visit visit{
      .time = now_, .cursors = cursors_, .tally = tallyNow(), .span = spansMade_, .skips = skips_};
  for (const RoleRun &run : roles_) {
    visit.at.insert(visit.at.end(), run.at.begin(), run.at.end());
    visit.entered.insert(visit.entered.end(), run.entered.begin(), run.entered.end());
  }
  return visit;
}

/// With what is going on, as far as it has come.
Simulation::Tally Simulation::tallyNow() const {
  Tally tally = tally_;
  for (std::size_t role = 0; role < roles_.size(); ++role) {
    const RoleRun &run = roles_[role];
    if (run.blockedSince >= 0)
      tally[waitPlace(instructionAt(role, run.pc), false) + kCycles] += now_ - run.blockedSince;
    for (std::size_t loop = 0; loop < run.enteredAt.size(); ++loop)
      if (run.enteredAt[loop] >= 0) tally[insidePlace(role, loop)] += now_ - run.enteredAt[loop];
  }
  return tally;
}

/// Whether no condition and no loop can tell now from then.
bool Simulation::repeats(const Visit &visit) const {
  bool goesOn = false;
  for (std::size_t role = 0; role < roles_.size(); ++role)
    for (std::size_t loop = 0; loop < firstTrip_.size(); ++loop) {
      const std::int32_t now = roles_[role].at[loop], then = visit.at[placeOf(role, loop)];
      if (now == then) continue;
      const bool isInOne = roles_[role].entered[loop] == visit.entered[placeOf(role, loop)];
      if (!isInOne || now < then || then < firstTrip_[loop] || now > lastTrip_[loop]) return false;
      goesOn = true;
    }
  return goesOn;
}

/// Of the loop that is watched, if all roles that run it have gone on by as many; else 0.
std::int32_t Simulation::tripsOfWatched(const Visit &visit) const {
  if (!watched_.valid() || runsTwice_ || !front_[watched_.index()].valid()) return 0;
  const std::size_t loop = watched_.index();
  const auto tripsOf = [&](std::size_t role) {
    return roles_[role].at[loop] - visit.at[placeOf(role, loop)];
  };
  const std::int32_t trips = tripsOf(front_[loop].index());
  for (std::size_t role = 0; role < roles_.size(); ++role) {
    bool runsIt = false;
    for (const check::Instruction &instruction : model_.code[role])
      runsIt |= instruction.control == check::Control::Test && instruction.op->trips == watched_;
    if (runsIt && tripsOf(role) != trips) return 0;
  }
  return trips;
}

/// How often more it goes on as it did since then.
std::int64_t Simulation::timesAlike(const Visit &visit) const {
  std::int64_t times = std::numeric_limits<std::int64_t>::max();
  for (std::size_t role = 0; role < roles_.size(); ++role)
    for (std::size_t loop = 0; loop < lastTrip_.size(); ++loop) {
      const std::int64_t now = roles_[role].at[loop], then = visit.at[placeOf(role, loop)];
      if (now != then) times = std::min(times, (lastTrip_[loop] - now) / (now - then));
    }
  return times;
}

/// How often that goes into what is left of the time before the window, or in it.
std::int64_t Simulation::timesInWindow(std::int64_t period) const {
  const bool isBefore = now_ < limits_.windowBegin;
  if ((!isBefore && now_ >= limits_.windowEnd) || period == 0)
    return std::numeric_limits<std::int64_t>::max();
  const std::int64_t border = isBefore ? limits_.windowBegin : limits_.windowEnd;
  return std::max<std::int64_t>(0, border - longestBusy_ - now_) / period;
}

// --- states ---

Simulation::State Simulation::state(TripsId loop) const {
  State state;
  const auto ahead = [&](std::int64_t time) { return std::max<std::int64_t>(time - now_, 0); };
  const std::size_t loops = program_.trips.size();
  for (std::size_t role = 0; role < roles_.size(); ++role) {
    const RoleRun &run = roles_[role];
    const std::int64_t flags = run.isDone + 2 * run.isPaying + 4 * (run.meetingTurn >= 0);
    state.insert(state.end(), {run.pc, flags, ahead(run.busyUntil)});
    for (std::size_t inner = 0; inner < loops; ++inner)
      if (isInside_[role][inner * loops + loop.index()]) state.push_back(run.at[inner]);
  }
  for (std::size_t c = 0; c < cursors_.size(); ++c)
    state.push_back(cursors_[c] - origin(program_.cursors[c].ring));
  addBarrierState(state);
  for (const MeetingRun &meeting : meetings_) state.push_back(meeting.here);
  for (const QueueRun &queue : queues_) addQueueState(queue, state);
  for (const ResourceRun &resource : resources_) state.push_back(ahead(resource.freeAt));
  addEvents(state);
  return state;
}

/// A wait asks whether a phase's parity is that of its use's round. Slots that nobody has touched,
/// or that are over, say by their number alone what they are, so that deep rings cost what is under
/// way in them; of others those that are alike are counted.
void Simulation::addBarrierState(State &state) const {
  for (std::uint32_t b = 0; b < program_.barriers.size(); ++b) {
    const RingId ring = program_.barriers[b].ring;
    const std::int64_t depth = program_.depthOf(ring);
    const BarrierRun &run = barriers_[b];
    state.push_back(((run.over - origin(ring)) % (2 * depth) + 2 * depth) % (2 * depth));
    std::array<std::int64_t, 3> last = {};
    std::int64_t times = 0;
    const auto close = [&] {
      if (times > 0) state.insert(state.end(), {times, last[0], last[1], last[2]});
    };
    for (std::int64_t use = run.over; use < std::min(run.touched, run.over + depth); ++use) {
      const SlotRun &slot = slots_[static_cast<std::size_t>(model_.slotOf(BarrierId(b), use))];
      const std::array<std::int64_t, 3> one = {(slot.phase - use / depth) & 1, slot.missing,
                                               slot.expected - slot.landed};
      if (times > 0 && one != last) close(), times = 0;
      last = one;
      ++times;
    }
    close();
    state.push_back(-1);
  }
}

void Simulation::addEvents(State &state) const {
  std::vector<Event> events = events_;
  std::ranges::sort(events, [](const Event &a, const Event &b) { return b < a; });
  for (const Event &event : events) {
    if (event.wakes) {
      state.insert(state.end(), {event.time - now_, 0, event.which, 0});
      continue;
    }
    const InFlightOp &flight = flights_[static_cast<std::size_t>(event.which)];
    const ScheduleOp &op = *flight.op;
    const bool isCopy = op.kind == ScheduleOpKind::Copy;
    const std::int64_t use = isCopy ? flight.use - origin(program_[op.barrier].ring) : 0;
    state.insert(state.end(), {event.time - now_, 1, reinterpret_cast<std::intptr_t>(&op), use});
  }
}

/// What is in flight stands among the events.
void Simulation::addQueueState(const QueueRun &queue, State &state) const {
  state.insert(state.end(),
               {queue.issued - queue.ended, queue.started - queue.ended,
                queue.entries - queue.entriesDone,
                queue.started > 0 ? std::max<std::int64_t>(queue.lastEnd - now_, 0) : 0});
  for (auto flight = static_cast<std::size_t>(queue.started - queue.ended);
       flight < queue.flights.size(); ++flight) {
    const auto number = static_cast<std::size_t>(queue.flights[flight]);
    state.push_back(reinterpret_cast<std::intptr_t>(flights_[number].op));
  }
  state.push_back(std::ssize(queue.open));
  for (const auto &[entries, until] : queue.open)
    state.insert(state.end(), {queue.entries - entries, until - queue.ended});
  state.push_back(std::ssize(queue.signals));
  for (const Signal &signal : queue.signals)
    state.insert(state.end(),
                 {signal.flights - queue.ended, signal.barrier.index(),
                  signal.use - origin(program_[signal.barrier].ring), signal.arrivals});
}

// --- what is skipped ---

/// Time, places and counts as they are when what has happened since then has happened so often
/// again.
void Simulation::skip(const Visit &visit, std::int64_t times) {
  const std::int64_t cycles = times * (now_ - visit.time);
  // What is going on has its part in these counts: it goes on as if it had begun so much later.
  const Tally all = tallyNow();
  const auto later = [&](std::int64_t &time, std::int64_t than) {
    if (time > than) time += cycles;
  };
  std::vector<std::int64_t> uses(program_.rings.size()); // by ring
  for (std::size_t ring = 0; ring < uses.size(); ++ring)
    if (const CursorId first = origins_[ring]; first.valid())
      uses[ring] = times * (cursors_[first.index()] - visit.cursors[first.index()]);
  const auto usesOf = [&](BarrierId barrier) {
    const RingId ring = program_[barrier].ring;
    return ring.valid() ? uses[ring.index()] : 0;
  };
  for (std::size_t role = 0; role < roles_.size(); ++role) {
    RoleRun &run = roles_[role];
    later(run.busyUntil, now_);
    if (run.blockedSince >= 0) run.blockedSince += cycles;
    for (std::size_t loop = 0; loop < lastTrip_.size(); ++loop) {
      const std::int64_t trips = run.at[loop] - visit.at[placeOf(role, loop)];
      run.at[loop] += static_cast<std::int32_t>(times * trips);
      const std::int64_t entered = run.entered[loop] - visit.entered[placeOf(role, loop)];
      run.entered[loop] += times * entered;
      if (run.enteredAt[loop] >= 0) run.enteredAt[loop] += cycles;
      if (TripsId(static_cast<std::uint32_t>(loop)) == watched_ && trips > 0) tripStarts_.clear();
    }
  }
  for (std::size_t c = 0; c < cursors_.size(); ++c)
    cursors_[c] += uses[program_.cursors[c].ring.index()];
  moveRings(uses);
  for (Event &event : events_) {
    event.time += cycles;
    if (event.wakes) continue;
    InFlightOp &flight = flights_[static_cast<std::size_t>(event.which)];
    if (flight.op->kind == ScheduleOpKind::Copy) flight.use += usesOf(flight.op->barrier);
  }
  for (QueueRun &queue : queues_) {
    queue.lastEnd += cycles;
    for (const std::int32_t flight : queue.flights)
      flights_[static_cast<std::size_t>(flight)].issued += cycles;
    for (Signal &signal : queue.signals) signal.use += usesOf(signal.barrier);
  }
  for (ResourceRun &resource : resources_) later(resource.freeAt, now_);
  for (std::size_t r = 0; r < busyInWindow_.size(); ++r)
    if (now_ >= limits_.windowBegin && now_ < limits_.windowEnd)
      busyInWindow_[r] += times * (all[busyPlace(r)] - visit.tally[busyPlace(r)]);
  for (std::size_t i = 0; i < tally_.size(); ++i) tally_[i] += times * (all[i] - visit.tally[i]);
  now_ += cycles;
  ++skips_;
}

/// Uses that are so much later lie in other slots, in other rounds.
void Simulation::moveRings(const std::vector<std::int64_t> &uses) {
  for (std::uint32_t b = 0; b < program_.barriers.size(); ++b) {
    const RingId ring = program_.barriers[b].ring;
    if (!ring.valid() || uses[ring.index()] == 0) continue;
    const std::int64_t depth = program_.depthOf(ring), by = uses[ring.index()];
    std::vector<SlotRun> moved(static_cast<std::size_t>(depth));
    for (std::int64_t number = 0; number < depth; ++number) {
      SlotRun &slot = slotAt(BarrierId(b), number);
      const std::int64_t use = slot.phase * depth + number + by;
      slot.phase = use / depth;
      moved[static_cast<std::size_t>(use % depth)] = slot;
    }
    for (std::int64_t number = 0; number < depth; ++number)
      slotAt(BarrierId(b), number) = moved[static_cast<std::size_t>(number)];
    barriers_[b].over += by;
    barriers_[b].touched += by;
  }
}

} // namespace imbrex::schedule::timeline
