#include "backend/schedule/channels.h"
#include "backend/schedule/timeline/simulation.h"

#include <algorithm>

// When a run repeats itself: at a trip of the watched loop its state is written down with all that
// is over left out, times as how long they are ahead, and uses as how far they are from the ring's
// first cursor. What follows depends on nothing else, as long as no condition tells trips apart.
namespace imbrex::schedule::timeline {

void Simulation::watch(TripsId loop) {
  watched_ = loop;
  const std::int32_t count = trips_[loop.index()];
  if (count > kMostSteps)
    return fail(
        diagnostic(Diag::TimelineTooLong, program_.where, program_.name, withTrips(), kMostSteps));
  tripStarts_.assign(program_.roles.size(),
                     std::vector<std::int64_t>(static_cast<std::size_t>(count)));
  bool runsTwice = false;
  std::int32_t fewestLeft = 0;
  for (std::uint32_t role = 0; role < program_.roles.size(); ++role)
    forEachOp(program_.roles[role].body, [&](const Op &op) {
      if (op.kind == OpKind::If && op.guard.trips == loop &&
          op.guard.measure == Guard::Measure::Left)
        fewestLeft = std::max(fewestLeft, op.guard.than);
      if (op.kind != OpKind::For || op.trips != loop) return;
      fewestLeft = std::max(fewestLeft, op.less);
      runsTwice |= !watchers_.empty() && watchers_.back() == RoleId(role);
      watchers_.push_back(RoleId(role));
    });
  chooseOrigins();
  // What comes behind the first of two such loops is no part of what repeats itself in it.
  if (runsTwice) watchers_.clear();
  firstTrip_ = model_.mostDone[loop.index()] + 1;
  lastTrip_ = count - fewestLeft - 1;
}

std::map<std::string, std::int64_t> Simulation::busy() const {
  std::map<std::string, std::int64_t> busy;
  for (const ResourceUse &resource : out_.resources) busy[resource.name] += resource.busy;
  for (std::size_t role = 0; role < roles_.size(); ++role)
    if (roles_[role].worked > 0) busy["role " + program_.roles[role].name] += roles_[role].worked;
  return busy;
}

void Simulation::lookForRepetition() {
  const auto tripOf = [&](RoleId role) { return roles_[role.index()].at[watched_.index()]; };
  if (watchers_.empty() || tripOf(watchers_.front()) == seenTrip_) return;
  seenTrip_ = tripOf(watchers_.front());
  for (const RoleId role : watchers_)
    if (tripOf(role) < firstTrip_ || tripOf(role) > lastTrip_) return;
  const auto [at, isNew] =
      visits_.try_emplace(state(), Visit{.trip = seenTrip_, .time = now_, .busy = {}});
  Visit &visit = at->second;
  if (isNew) {
    visit.busy = busy();
    return;
  }
  repetition_ = {.trips = seenTrip_ - visit.trip, .cycles = now_ - visit.time, .busy = busy()};
  for (auto &[who, cycles] : repetition_->busy) cycles -= visit.busy[who];
}

/// Each ring's first cursor. Where one is set back, only its place says in which slot it is next.
void Simulation::chooseOrigins() {
  origins_.assign(program_.rings.size(), CursorId());
  for (std::uint32_t c = 0; c < program_.cursors.size(); ++c) {
    CursorId &origin = origins_[program_.cursors[c].ring.index()];
    if (!origin.valid()) origin = CursorId(c);
  }
  for (const Role &role : program_.roles)
    forEachOp(role.body, [&](const Op &op) {
      if (op.kind == OpKind::Reset) origins_[program_[op.cursor].ring.index()] = CursorId();
    });
}

std::int64_t Simulation::origin(RingId ring) const {
  if (!ring.valid() || !origins_[ring.index()].valid()) return 0;
  return cursors_[origins_[ring.index()].index()];
}

std::int64_t Simulation::fromOrigin(BarrierId barrier, std::int32_t slot) const {
  const RingId ring = program_[barrier].ring;
  return check::slotOfUse(model_.numberOfSlot(slot) - origin(ring), program_.depthOf(ring));
}

std::vector<std::int64_t> Simulation::state() const {
  std::vector<std::int64_t> state;
  const auto ahead = [&](std::int64_t time) { return std::max<std::int64_t>(time - now_, 0); };
  for (const RoleRun &run : roles_) {
    const std::int64_t flags = run.isDone + 2 * run.isPaying + 4 * (run.meetingTurn >= 0);
    state.insert(state.end(), {run.pc, flags, ahead(run.busyUntil)});
    state.insert(state.end(), run.at.begin(), run.at.end());
  }
  for (const RoleId role : watchers_) {
    const std::size_t at = role.index() * (3 + program_.trips.size()) + 3 + watched_.index();
    state[at] -= seenTrip_;
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

/// A wait asks whether a phase's parity is that of its use's round.
void Simulation::addBarrierState(std::vector<std::int64_t> &state) const {
  for (std::uint32_t b = 0; b < program_.barriers.size(); ++b) {
    const RingId ring = program_.barriers[b].ring;
    const std::int64_t first = origin(ring);
    for (std::int32_t use = 0; use < program_.depthOf(ring); ++use) {
      const SlotRun &slot =
          slots_[static_cast<std::size_t>(model_.slotOf(BarrierId(b), first + use))];
      const std::int64_t round = check::roundOfUse(first + use, program_.depthOf(ring));
      state.insert(state.end(),
                   {(slot.phase ^ round) & 1, slot.missing, slot.expected - slot.landed});
    }
  }
}

void Simulation::addEvents(std::vector<std::int64_t> &state) const {
  std::vector<Event> events = events_;
  std::ranges::sort(events, [](const Event &a, const Event &b) { return b < a; });
  for (const Event &event : events) {
    const Span &span = out_.spans[static_cast<std::size_t>(event.span)];
    const bool isCopy = !event.wakes && span.op->kind == OpKind::Copy;
    const std::int64_t use = span.op->index.cursor.valid() ? span.use : 0;
    const std::int64_t place =
        isCopy ? fromOrigin(span.op->barrier, model_.slotOf(span.op->barrier, use)) : 0;
    state.insert(state.end(),
                 {event.time - now_, event.wakes, reinterpret_cast<std::intptr_t>(span.op), place});
  }
}

/// What is in flight stands among the events.
void Simulation::addQueueState(const QueueRun &queue, std::vector<std::int64_t> &state) const {
  const auto flights = static_cast<std::int32_t>(queue.flights.size());
  const auto spanAt = [&](std::int32_t flight) -> const Span & {
    return out_.spans[static_cast<std::size_t>(queue.flights[static_cast<std::size_t>(flight)])];
  };
  const std::int64_t lastEnd = queue.started > 0 ? spanAt(queue.started - 1).end : 0;
  state.insert(state.end(),
               {flights - queue.ended, queue.started - queue.ended,
                queue.entries - queue.entriesDone, std::max<std::int64_t>(lastEnd - now_, 0)});
  for (std::int32_t flight = queue.started; flight < flights; ++flight)
    state.push_back(reinterpret_cast<std::intptr_t>(spanAt(flight).op));
  state.push_back(static_cast<std::int64_t>(queue.open.size()));
  for (const auto &[entries, until] : queue.open)
    state.insert(state.end(), {queue.entries - entries, until - queue.ended});
  state.push_back(static_cast<std::int64_t>(queue.signals.size()));
  for (const Signal &signal : queue.signals) {
    const BarrierId barrier = model_.barrierOf(signal.slot);
    state.insert(state.end(), {signal.flights - queue.ended, barrier.index(),
                               fromOrigin(barrier, signal.slot), signal.arrivals});
  }
}

} // namespace imbrex::schedule::timeline
