#include "tests/support/schedule_machine.h"

#include <algorithm>
#include <set>

namespace imbrex::testing {

using schedule::ScheduleOpKind;

namespace {

constexpr std::uint32_t kMeeting = 1u << 31; // with an agent's place: it is at a meeting and waits
constexpr std::uint32_t kUnseen = 1u << 31;  // with a cell's content: not by the async proxy
// With the arrivals that a barrier still wants:
constexpr std::uint32_t kOdd = 1, kInitialised = 2, kUnseenBarrier = 4, kArrivalsShift = 3;

bool conflict(const Step &a, const Step &b) {
  for (const CellAccess &x : a.accesses)
    for (const CellAccess &y : b.accesses)
      if (x.cell == y.cell && (x.writes || y.writes)) return true;
  return false;
}

std::uint32_t sizeOf(const auto &list) { return static_cast<std::uint32_t>(list.size()); }

} // namespace

Machine::Machine(const Traces &traces, bool reduced)
    : traces_(traces), reduced_(reduced), queues_(sizeOf(traces.agents)),
      barriers_(queues_ + sizeOf(traces.queues)), cells_(barriers_ + 2 * sizeOf(traces.barriers)),
      pendings_(cells_ + traces.cells), words_(pendings_ + (sizeOf(traces.pendings) + 31) / 32) {
  findPrivateCells();
  findWhatHasProxies();
  findOrderlyMeetings();
}

void Machine::findPrivateCells() {
  std::vector<std::set<std::uint32_t>> users(traces_.cells);
  for (std::uint32_t agent = 0; agent < traces_.agents.size(); ++agent)
    for (const Step &step : traces_.agents[agent])
      for (const CellAccess &access : step.accesses) users[access.cell].insert(agent);
  for (const auto &agents : users) private_.push_back(agents.size() == 1);
}

void Machine::findWhatHasProxies() {
  hasProxyCell_.resize(traces_.cells);
  hasProxyBarrier_.resize(traces_.barriers.size());
  for (const auto &steps : traces_.agents)
    for (const Step &step : steps) {
      if (!step.isAsync) continue;
      for (const CellAccess &access : step.accesses)
        hasProxyCell_[access.cell] = traces_.isShared[access.cell];
      const bool arrives = step.kind == ScheduleOpKind::Copy || step.kind == ScheduleOpKind::Signal;
      if (arrives) hasProxyBarrier_[step.barrier] = true;
    }
}

void Machine::findOrderlyMeetings() {
  std::vector<std::set<std::uint32_t>> agents, parties;
  for (std::uint32_t agent = 0; agent < traces_.agents.size(); ++agent)
    for (const Step &step : traces_.agents[agent]) {
      if (step.kind != ScheduleOpKind::Meet) continue;
      agents.resize(std::max<std::size_t>(agents.size(), step.number + 1));
      parties.resize(agents.size());
      agents[step.number].insert(agent);
      parties[step.number].insert(step.parties);
    }
  for (std::size_t number = 0; number < agents.size(); ++number)
    orderly_.push_back(agents[number].empty() || agents[number].size() <= *parties[number].begin());
}

MachineState Machine::start() const {
  MachineState state(words_, 0);
  for (std::uint32_t b = 0; b < traces_.barriers.size(); ++b)
    set(state, b,
        Barrier{.left = traces_.barriers[b].arrivals,
                .expected = 0,
                .odd = false,
                .initialised = traces_.barriers[b].initialised,
                .unseen = false});
  return state;
}

bool Machine::finished(const MachineState &state) const {
  for (std::uint32_t agent = 0; agent < traces_.agents.size(); ++agent)
    if (state[agent] != traces_.agents[agent].size()) return false;
  return true;
}

const Step *Machine::next(const MachineState &state, std::uint32_t agent) const {
  const auto &steps = traces_.agents[agent];
  return state[agent] < steps.size() ? &steps[state[agent]] : nullptr;
}

bool Machine::collides(const MachineState &state) const {
  for (std::uint32_t a = 0; a < traces_.agents.size(); ++a) {
    const Step *one = next(state, a);
    if (!one || one->kind != ScheduleOpKind::Access) continue;
    for (std::uint32_t b = a + 1; b < traces_.agents.size(); ++b)
      if (const Step *other = next(state, b); other && other->kind == ScheduleOpKind::Access)
        if (conflict(*one, *other)) return true;
  }
  return false;
}

/// Whether an agent's own copy or queue ends before it accesses its own memory does not matter: if
/// that could, the access races with it, which is found out at once. What it writes for the async
/// proxy, others' fences can be before or behind.
bool Machine::independent(const MachineState &state, const Step &step) const {
  if (step.kind == ScheduleOpKind::Drain) return queue(state, step.queue).ended >= step.ended;
  if (step.kind == ScheduleOpKind::Meet) return orderly_[step.number];
  if (step.kind == ScheduleOpKind::Fence) return !anyUnseen(state);
  return (step.kind == ScheduleOpKind::Access || step.kind == ScheduleOpKind::Issue) &&
         std::ranges::all_of(step.accesses, [&](const CellAccess &access) {
           const bool isForProxy = access.writes && !step.isAsync && hasProxyCell_[access.cell];
           return private_[access.cell] && !isForProxy;
         });
}

std::optional<Move> Machine::independentMove(const MachineState &state) const {
  if (!reduced_) return std::nullopt;
  for (std::uint32_t agent = 0; agent < traces_.agents.size(); ++agent)
    if (const Step *step = next(state, agent); step && independent(state, *step))
      return Move{Move::Kind::Step, agent};
  return std::nullopt;
}

bool Machine::enabled(const MachineState &state, const Step &step) const {
  if (step.kind == ScheduleOpKind::Drain) return mayEnd(state, step);
  if (step.kind != ScheduleOpKind::Wait) return true;
  const Barrier at = barrier(state, step.barrier);
  return !at.initialised || at.odd != step.parity;
}

/// Whether what has to end for this step has, or may be ended together with it.
bool Machine::mayEnd(const MachineState &state, const Step &step) const {
  return reduced_ || queue(state, step.queue).ended >= step.ended;
}

bool Machine::mayTurn(const MachineState &state, std::uint32_t which) const {
  const Queue at = queue(state, which);
  if (!reduced_) return at.issued > at.ended;
  return traces_.queues[which].serial && at.issued >= at.ended + 2;
}

void Machine::forEachMove(const MachineState &state,
                          const std::function<void(const Move &)> &use) const {
  for (std::uint32_t agent = 0; agent < traces_.agents.size(); ++agent)
    if (const Step *step = next(state, agent); step && enabled(state, *step))
      use({Move::Kind::Step, agent});
  for (std::uint32_t which = 0; which < traces_.pendings.size(); ++which)
    if (const Step &step = stepOf(traces_.pendings[which]);
        pending(state, which) && (step.kind == ScheduleOpKind::Copy || mayEnd(state, step)))
      use({Move::Kind::Arrive, which});
  for (std::uint32_t which = 0; which < traces_.queues.size(); ++which)
    if (mayTurn(state, which)) use({Move::Kind::Turn, which});
}

std::optional<Failure> Machine::apply(MachineState &state, const Move &move) const {
  switch (move.kind) {
  case Move::Kind::Step: return step(state, move.which);
  case Move::Kind::Arrive: return arrivePending(state, move.which);
  case Move::Kind::Turn:
    return endOperations(state, move.which, queue(state, move.which).ended + 1);
  }
  return std::nullopt;
}

Machine::Outcome Machine::step(MachineState &state, std::uint32_t agent) const {
  const Step &step = *next(state, agent);
  if (step.kind == ScheduleOpKind::Meet) return meet(state, agent, step);
  ++state[agent];
  return perform(state, step);
}

Machine::Outcome Machine::perform(MachineState &state, const Step &step) const {
  switch (step.kind) {
  case ScheduleOpKind::Access: {
    const Outcome outcome = begin(state, step);
    if (!outcome) end(state, step);
    return outcome;
  }
  case ScheduleOpKind::Issue: return issue(state, step);
  case ScheduleOpKind::Copy:
  case ScheduleOpKind::Signal: {
    if (const Outcome outcome = reach(state, step)) return outcome;
    const Outcome outcome = begin(state, step);
    state[pendings_ + step.pending / 32] |= 1u << step.pending % 32;
    return outcome;
  }
  case ScheduleOpKind::Wait: return reach(state, step);
  case ScheduleOpKind::Arrive: return arrive(state, step, step.count, 0);
  case ScheduleOpKind::Expect: return arrive(state, step, step.count, step.bytes);
  case ScheduleOpKind::Drain: return endOperations(state, step.queue, step.ended);
  case ScheduleOpKind::Init: initialise(state, step); return std::nullopt;
  case ScheduleOpKind::Fence: fence(state); return std::nullopt;
  case ScheduleOpKind::Meet:
  case ScheduleOpKind::Commit:
  case ScheduleOpKind::Advance:
  case ScheduleOpKind::Reset:
  case ScheduleOpKind::For:
  case ScheduleOpKind::If: return std::nullopt;
  }
  return std::nullopt;
}

Machine::Outcome Machine::issue(MachineState &state, const Step &step) const {
  Queue at = queue(state, step.queue);
  const bool starts = !traces_.queues[step.queue].serial || at.issued == at.ended;
  const Outcome outcome = starts ? begin(state, step) : std::nullopt;
  ++at.issued;
  set(state, step.queue, at);
  return outcome;
}

Machine::Outcome Machine::meet(MachineState &state, std::uint32_t agent, const Step &step) const {
  std::vector<std::uint32_t> here = {agent};
  for (std::uint32_t other = 0; other < traces_.agents.size(); ++other) {
    if (!(state[other] & kMeeting)) continue;
    const Step &theirs = traces_.agents[other][state[other] & ~kMeeting];
    if (theirs.number != step.number) continue;
    if (theirs.parties != step.parties) return Failure::Parties;
    here.push_back(other);
  }
  state[agent] |= kMeeting;
  if (here.size() < step.parties) return std::nullopt;
  for (const std::uint32_t one : here) state[one] = (state[one] & ~kMeeting) + 1;
  return std::nullopt;
}

Machine::Outcome Machine::arrivePending(MachineState &state, std::uint32_t which) const {
  const Step &step = stepOf(traces_.pendings[which]);
  state[pendings_ + which / 32] &= ~(1u << which % 32);
  if (step.kind == ScheduleOpKind::Copy) {
    end(state, step);
    return arrive(state, step, 0, -step.bytes);
  }
  if (const Outcome outcome = endOperations(state, step.queue, step.ended)) return outcome;
  return arrive(state, step, step.count, 0);
}

Machine::Outcome Machine::arrive(MachineState &state, const Step &step, std::int32_t count,
                                 std::int64_t bytes) const {
  Barrier at = barrier(state, step.barrier);
  if (!at.initialised) return Failure::Uninitialised;
  if (at.left < count) return Failure::OverArrival;
  at.left -= count;
  at.expected += static_cast<std::int32_t>(bytes);
  if (at.left == 0 && at.expected == 0) {
    at.odd = !at.odd;
    at.left = traces_.barriers[step.barrier].arrivals;
  }
  set(state, step.barrier, at);
  return std::nullopt;
}

/// An operation's first look at its barrier.
Machine::Outcome Machine::reach(const MachineState &state, const Step &step) const {
  const Barrier at = barrier(state, step.barrier);
  if (!at.initialised) return Failure::Uninitialised;
  if (step.isAsync && at.unseen) return Failure::Unfenced;
  return std::nullopt;
}

void Machine::fence(MachineState &state) const {
  for (std::uint32_t cell = 0; cell < traces_.cells; ++cell) state[cells_ + cell] &= ~kUnseen;
  for (std::uint32_t b = 0; b < traces_.barriers.size(); ++b)
    state[barriers_ + 2 * b] &= ~kUnseenBarrier;
}

bool Machine::anyUnseen(const MachineState &state) const {
  for (std::uint32_t cell = 0; cell < traces_.cells; ++cell)
    if (state[cells_ + cell] & kUnseen) return true;
  for (std::uint32_t b = 0; b < traces_.barriers.size(); ++b)
    if (state[barriers_ + 2 * b] & kUnseenBarrier) return true;
  return false;
}

void Machine::initialise(MachineState &state, const Step &step) const {
  for (std::uint32_t b = step.barrier; b < step.barrier + step.barriers; ++b)
    set(state, b,
        Barrier{.left = traces_.barriers[b].arrivals,
                .expected = 0,
                .odd = false,
                .initialised = true,
                .unseen = hasProxyBarrier_[b]});
}

/// An operation that is in flight itself is not asked about: it begins before it counts as such.
Machine::Outcome Machine::begin(const MachineState &state, const Step &step) const {
  if (anyInFlight(state, [&](const Step &other) { return conflict(step, other); }))
    return Failure::Race;
  for (const CellAccess &access : step.accesses) {
    const std::uint32_t found = state[cells_ + access.cell];
    if (!access.writes && (found & ~kUnseen) != access.content) return Failure::Value;
    if (step.isAsync && (found & kUnseen)) return Failure::Unfenced;
  }
  return std::nullopt;
}

void Machine::end(MachineState &state, const Step &step) const {
  for (const CellAccess &access : step.accesses) {
    if (!access.writes) continue;
    const bool isUnseen = !step.isAsync && hasProxyCell_[access.cell];
    state[cells_ + access.cell] = access.content | (isUnseen ? kUnseen : 0);
  }
}

Machine::Outcome Machine::endOperations(MachineState &state, std::uint32_t which,
                                        std::uint32_t until) const {
  Queue at = queue(state, which);
  while (at.ended < until) {
    end(state, operation(which, at.ended++));
    // What begins now must not find itself in flight.
    set(state, which, Queue{at.ended, at.ended});
    if (traces_.queues[which].serial && at.ended < at.issued)
      if (const Outcome outcome = begin(state, operation(which, at.ended))) return outcome;
    set(state, which, at);
  }
  return std::nullopt;
}

/// What waits in a serial queue counts as well: in some order it has begun.
bool Machine::anyInFlight(const MachineState &state,
                          const std::function<bool(const Step &)> &holds) const {
  for (std::uint32_t which = 0; which < traces_.queues.size(); ++which) {
    const Queue at = queue(state, which);
    for (std::uint32_t number = at.ended; number < at.issued; ++number)
      if (holds(operation(which, number))) return true;
  }
  for (std::uint32_t which = 0; which < traces_.pendings.size(); ++which)
    if (pending(state, which) && holds(stepOf(traces_.pendings[which]))) return true;
  return false;
}

const Step &Machine::operation(std::uint32_t which, std::uint32_t number) const {
  const TracedQueue &queue = traces_.queues[which];
  return traces_.agents[queue.agent][queue.operations[number]];
}

bool Machine::pending(const MachineState &state, std::uint32_t which) const {
  return state[pendings_ + which / 32] >> which % 32 & 1;
}

Machine::Queue Machine::queue(const MachineState &state, std::uint32_t which) const {
  const std::uint32_t word = state[queues_ + which];
  return {.issued = word >> 16, .ended = word & 0xffff};
}

void Machine::set(MachineState &state, std::uint32_t which, const Queue &queue) const {
  state[queues_ + which] = queue.issued << 16 | queue.ended;
}

Machine::Barrier Machine::barrier(const MachineState &state, std::uint32_t which) const {
  const std::uint32_t *words = &state[barriers_ + 2 * which];
  return {.left = static_cast<std::int32_t>(words[0] >> kArrivalsShift),
          .expected = static_cast<std::int32_t>(words[1]),
          .odd = (words[0] & kOdd) != 0,
          .initialised = (words[0] & kInitialised) != 0,
          .unseen = (words[0] & kUnseenBarrier) != 0};
}

void Machine::set(MachineState &state, std::uint32_t which, const Barrier &barrier) const {
  state[barriers_ + 2 * which] = static_cast<std::uint32_t>(barrier.left) << kArrivalsShift |
                                 (barrier.unseen ? kUnseenBarrier : 0) |
                                 (barrier.initialised ? kInitialised : 0) |
                                 (barrier.odd ? kOdd : 0);
  state[barriers_ + 2 * which + 1] = static_cast<std::uint32_t>(barrier.expected);
}

} // namespace imbrex::testing
