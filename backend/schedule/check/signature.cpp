#include "backend/schedule/check/signature.h"

#include "backend/schedule/check/listing.h"

#include <algorithm>
#include <limits>

namespace imbrex::schedule::check {

namespace {

std::int64_t placeOf(const Signature::ClockLag &lack) {
  return (std::int64_t{lack.row} << 32) + lack.place;
}

} // namespace

/// Which numbers of a run's clocks tell it from others, and how the signature names them: by row in
/// the order of visits, by place in that of the listing, those of a row but for claims, then slots
/// and meetings once more for their phases, then claims.
class ClockPlaces {
public:
  enum class Of : std::uint8_t { Events, Phases, Claims };
  /// Something that clocks can lack, and its place in the order of the listing.
  struct LivePlace {
    std::int32_t order;
    std::int32_t place; // in a row
    std::int32_t time;  // of a claim
    Of of;
  };

  explicit ClockPlaces(const Run &run)
      : run_(run), model_(*run.model_), order_(run), horizon_(run.horizon()) {
    collectEvents();
    findLive();
  }

  const Listing &order() const { return order_; }
  const std::vector<LivePlace> &live() const { return live_; }
  std::size_t looked() const { return order_.claims().size() + rows_.size() * live_.size(); }

  /// The row's number.
  std::int32_t addRow(std::int32_t row) {
    rows_.push_back(row);
    return static_cast<std::int32_t>(rows_.size()) - 1;
  }

  /// How many of the live events at this place of a row are over by `time`.
  std::int32_t rank(std::int32_t place, std::int32_t time) const {
    const auto &times = events_[static_cast<std::size_t>(place)];
    return static_cast<std::int32_t>(std::ranges::upper_bound(times, time) - times.begin());
  }

  /// How much a clock lacks of it.
  std::int32_t lacking(const std::int32_t *clock, const LivePlace &live) const {
    if (live.of == Of::Claims) return clock[live.place] < live.time ? 1 : 0;
    const auto place = static_cast<std::size_t>(live.place);
    const std::int32_t time = std::max(clock[place], horizon_[place]);
    // With less than the phase before the last every wait and arrival fails.
    if (live.of == Of::Phases) return std::clamp(phaseOf(live.place) - time, 0, 2);
    return static_cast<std::int32_t>(events_[place].size()) - rank(live.place, time);
  }

  /// Makes the run, whose signature lacks `own`, lack these as well.
  void weaken(Run &run, const Signature::ClockLags &own, const Signature::ClockLags &lacks) const {
    auto at = own.begin();
    for (const Signature::ClockLag &lack : lacks) {
      while (at != own.end() && placeOf(*at) < placeOf(lack)) ++at;
      const bool isOwn = at != own.end() && placeOf(*at) == placeOf(lack);
      if (isOwn && at->count >= lack.count) continue;
      const auto [place, most] = bound(run, lack);
      const std::int32_t row = rows_[static_cast<std::size_t>(lack.row)];
      if (run.clock(row)[place] > most) run.ownClock(row)[place] = most;
    }
  }

private:
  struct Bound {
    std::int32_t place, most;
  };
  /// Where in a row a number is lacking, and what it is then at most.
  Bound bound(Run &run, const Signature::ClockLag &lack) const {
    const std::int32_t ofClaims = lack.place - firstClaim();
    if (ofClaims >= 0) {
      const std::int32_t claim = order_.claims()[static_cast<std::size_t>(ofClaims)];
      const Event &end = held(run, claim).end;
      return {end.axis, end.time - 1};
    }
    const std::int32_t ofPhases = lack.place - model_.axisOfClaim(0);
    if (ofPhases >= 0) {
      const std::int32_t axis = order_.axes()[static_cast<std::size_t>(ofPhases)];
      return {axis, phaseOf(axis) - lack.count};
    }
    const std::int32_t half = lack.place / model_.axes * model_.axes;
    const std::int32_t place = half + order_.axes()[static_cast<std::size_t>(lack.place - half)];
    const auto &times = events_[static_cast<std::size_t>(place)];
    return {place, times[times.size() - static_cast<std::size_t>(lack.count)] - 1};
  }

  /// A claim that others are held against; where none is, its last one again, which all know of.
  const RecordedAccess &held(Run &run, std::int32_t number) const {
    RecordedAccess &touch = run.claimed(number);
    if (touch.op) return touch;
    const Claim &claim = model_.claims[static_cast<std::size_t>(number)];
    const std::int32_t axis = model_.axisOfClaim(number);
    touch = {.end = {axis, run.clock(claim.agent)[axis]},
             .op = claim.op,
             .agent = claim.agent,
             .buffer = claim.buffer};
    return touch;
  }

  void addEvent(std::int32_t place, std::int32_t time) {
    const auto p = static_cast<std::size_t>(place);
    if (time > horizon_[p]) events_[p].push_back(time);
  }

  void addEvent(const RecordedAccess &touch, bool isWrite) {
    if (touch.end.axis < 0) return;
    addEvent(touch.end.axis, touch.end.time);
    if (isWrite && run_.isSeenByProxy(touch))
      addEvent(model_.axes + touch.end.axis, touch.end.time);
  }

  void collectEvents() {
    events_.resize(static_cast<std::size_t>(model_.axisOfClaim(0)));
    for (const Cell &cell : run_.cells_) {
      if (cell.write.op) addEvent(cell.write, true);
      for (const RecordedAccess &read : cell.reads) addEvent(read, false);
    }
    for (const SlotRun &slot : run_.slots_) {
      for (const RecordedAccess &expect : slot.loneExpects) addEvent(expect, false);
      if (slot.made.axis < 0) continue;
      addEvent(slot.made.axis, slot.made.time);
      if (model_.hasProxies) addEvent(model_.axes + slot.made.axis, slot.made.time);
    }
    for (auto &times : events_) {
      std::ranges::sort(times);
      times.erase(std::unique(times.begin(), times.end()), times.end());
    }
  }

  /// Whether one of those that it holds up does not know of it. If all do, nobody need tell them.
  bool isLive(std::int32_t number) const {
    const RecordedAccess &touch = run_.claimed(number);
    if (!touch.op) return false;
    const Claim &claim = model_.claims[static_cast<std::size_t>(number)];
    for (std::int32_t agent = 0; agent < run_.agents(); ++agent) {
      if (run_.clock(agent)[touch.end.axis] >= touch.end.time) continue;
      const std::int32_t pc = run_.pcOf(agent);
      if (claim.op->kind == ScheduleOpKind::Wait ? model_.ends(agent, pc, claim.op->barrier)
                                                 : model_.writes(agent, pc, claim.on))
        return true;
    }
    return false;
  }

  /// The numbers of a clock that tell one run from another, in order.
  void findLive() {
    for (std::int32_t half = 0; half < model_.axisOfClaim(0); half += model_.axes)
      for (std::int32_t i = 0; i < model_.axes; ++i) {
        const std::int32_t place = half + order_.axes()[static_cast<std::size_t>(i)];
        if (!events_[static_cast<std::size_t>(place)].empty())
          live_.push_back({.order = half + i, .place = place, .time = 0, .of = Of::Events});
      }
    for (std::int32_t i = model_.axisOfSlot(0); i < model_.axes; ++i) {
      const std::int32_t axis = order_.axes()[static_cast<std::size_t>(i)];
      if (phaseOf(axis) > horizon_[static_cast<std::size_t>(axis)])
        live_.push_back(
            {.order = model_.axisOfClaim(0) + i, .place = axis, .time = 0, .of = Of::Phases});
    }
    for (std::size_t i = 0; i < order_.claims().size(); ++i) {
      if (!isLive(order_.claims()[i])) continue;
      const Event &end = run_.claimed(order_.claims()[i]).end;
      live_.push_back({.order = firstClaim() + static_cast<std::int32_t>(i),
                       .place = end.axis,
                       .time = end.time,
                       .of = Of::Claims});
    }
  }

  std::int32_t phaseOf(std::int32_t axis) const {
    const std::int32_t slot = axis - model_.axisOfSlot(0);
    if (slot < model_.slots) return run_.slots_[static_cast<std::size_t>(slot)].phase;
    return run_.meetings_[static_cast<std::size_t>(slot - model_.slots)].phase;
  }

  std::int32_t firstClaim() const { return model_.axisOfClaim(0) + model_.axes; }

  const Run &run_;
  const Model &model_;
  const Listing order_;
  const Horizon horizon_;
  std::vector<std::vector<std::int32_t>> events_; // by place in a row: the times of live ones
  std::vector<LivePlace> live_;
  std::vector<std::int32_t> rows_; // of clocks, as they were visited
};

/// Writes down a run's state, part by part.
class SignatureMaker {
public:
  SignatureMaker(const Run &run, ClockPlaces &places)
      : run_(run), model_(*run.model_), program_(run.model_->program), places_(places),
        order_(places.order()) {}

  Signature take() {
    for (std::int32_t agent = 0; agent < run_.agents(); ++agent) addAgent(agent);
    addBarriers();
    addMeetings();
    addCells();
    addTrips();
    out_.work = static_cast<std::int64_t>(out_.rest.size() + places_.looked() + out_.lacks.size());
    return std::move(out_);
  }

private:
  using LivePlace = ClockPlaces::LivePlace;

  void add(std::int64_t value) { out_.rest.push_back(static_cast<std::int32_t>(value)); }

  void addAgent(std::int32_t agent) {
    const AgentRun &run = run_.agents_[static_cast<std::size_t>(agent)];
    add(run.pc); // who is at a meeting has come there, and who is at the end is done
    if (!run.isDone)
      order_.forCursors(agent, [&](CursorId id, std::int64_t use) {
        add(use - order_.baseOf(program_[id].ring));
      });
    addClock(agent);
    const RoleId role = model_.agents[static_cast<std::size_t>(agent)].role;
    for (std::uint32_t q = 0; q < program_.queues.size(); ++q) {
      const QueueId id(q);
      if (program_[id].role != role) continue;
      const QueueRun &queue = run_.queues_[static_cast<std::size_t>(model_.queueOf(agent, id))];
      // How many were issued, the live ones among them tell: none is issued later.
      for (const auto &[entries, ops] : queue.ends) {
        add(std::min<std::int64_t>(queue.entries - entries, model_.deepest[q]));
        add(places_.rank(model_.axisOf(agent, id), ops));
      }
      add(-1);
    }
  }

  /// What every role knows, nobody learns from this row.
  void addClock(std::int32_t row) {
    const std::int32_t number = places_.addRow(row);
    const std::int32_t *clock = run_.clock(row);
    for (const LivePlace &live : places_.live())
      addLack(number, live, places_.lacking(clock, live));
  }

  void addLack(std::int32_t row, const LivePlace &live, std::int32_t count) {
    if (count > 0) out_.lacks.push_back({.row = row, .place = live.order, .count = count});
  }

  /// What `addOne` adds, or that it is the same once more.
  template <class AddOne>
  void addRepeated(AddOne addOne) {
    const std::size_t begin = out_.rest.size();
    addOne();
    const auto one = out_.rest.begin() + static_cast<std::ptrdiff_t>(begin);
    const bool isSame =
        last_ < begin && std::equal(one, out_.rest.end(), lastOne_.begin(), lastOne_.end());
    if (isSame) {
      out_.rest.resize(begin);
      ++out_.rest.back();
      return;
    }
    lastOne_.assign(one, out_.rest.end());
    last_ = begin;
    add(1);
  }
  void endRepeated() { last_ = std::numeric_limits<std::size_t>::max(); }

  void addBarriers() {
    BarrierId barrier;
    order_.forSlots(
        [&](std::int32_t slot, std::int64_t round) {
          if (model_.barrierOf(slot) != barrier) findUnknown(barrier = model_.barrierOf(slot));
          const bool isGathering = !run_.clocks_.isZero(run_.rowOfPhase(slot));
          addRepeated([&] {
            add(isGathering);
            addSlot(slot, round);
          });
          if (isGathering) addClock(run_.rowOfPhase(slot));
          addLast(run_.rowOfLast(slot));
        },
        [&] { endRepeated(); });
  }

  /// What one that waits for the barrier does not know.
  void findUnknown(BarrierId barrier) {
    unknown_.clear();
    for (const LivePlace &live : places_.live()) {
      std::int32_t most = 0;
      for (std::int32_t agent = 0; agent < run_.agents(); ++agent)
        if (model_.awaits(agent, run_.pcOf(agent), barrier))
          most = std::max(most, places_.lacking(run_.clock(agent), live));
      if (most > 0) unknown_.emplace_back(live, most);
    }
  }

  /// What a phase has gathered that is over, of what is unknown: from the rest nobody learns.
  void addLast(std::int32_t row) {
    const std::int32_t number = places_.addRow(row);
    const std::int32_t *clock = run_.clock(row);
    for (const auto &[live, most] : unknown_)
      addLack(number, live, std::min(most, places_.lacking(clock, live)));
  }

  void addSlot(std::int32_t slot, std::int64_t round) {
    const SlotRun &run = run_.slots_[static_cast<std::size_t>(slot)];
    add((run.phase - round) & 1);
    add(run.missing);
    add(run.expected - run.landed);
    if (run.isMade)
      addEvent(run.made);
    else
      add(kUnmade);
    for (const RecordedAccess &expect : run.loneExpects) addEvent(expect.end, false);
    add(-1);
  }

  /// Who is there, their places tell. What the last one had, nobody learns any more: all that were
  /// there have gone on.
  void addMeetings() {
    for (std::int32_t number = 0; number < model_.meetingNumbers; ++number)
      if (run_.meetings_[static_cast<std::size_t>(number)].here > 0)
        addClock(run_.rowOfMeeting(number));
  }

  /// The axis tells what it was, too: an access of an agent, of a queue, or a copy.
  void addEvent(const Event &event, bool forProxy = true) {
    if (event.axis < 0) return add(-1);
    add(order_.placeOf(event.axis));
    add(places_.rank(event.axis, event.time));
    if (model_.hasProxies && forProxy) add(places_.rank(model_.axes + event.axis, event.time));
  }

  void addCells() {
    order_.forCells(
        [&](std::int32_t c) {
          addRepeated([&] { addCell(run_.cells_[static_cast<std::size_t>(c)]); });
        },
        [&] { endRepeated(); });
  }

  /// Whether the cell holds what no cursor comes to again, of a ring whose cursors all go on.
  bool isStale(const RecordedAccess &write) const {
    if (!write.hasUse || write.end.axis >= 0) return false;
    const RingId ring = program_[write.buffer].ring;
    return write.use < order_.baseOf(ring);
  }

  void addCell(const Cell &cell) {
    const bool isWritten = cell.write.op && !isStale(cell.write);
    add(isWritten);
    if (isWritten) {
      addEvent(cell.write.end);
      add(cell.write.buffer.index());
      if (cell.write.hasUse) {
        const RingId ring = program_[cell.write.buffer].ring;
        const std::int64_t use = cell.write.use - order_.baseOf(ring);
        add(std::max<std::int64_t>(use, -1));
      }
    }
    for (const RecordedAccess &read : cell.reads) addEvent(read.end, false);
    add(-1);
  }

  /// Where an agent is in a loop matters only against what is decided of it, and in its first
  /// trips where a condition tells them.
  void addTrips() {
    for (std::uint32_t t = 0; t < program_.trips.size(); ++t)
      for (std::int32_t agent = 0; agent < run_.agents(); ++agent) addPlace(TripsId(t), agent);
    for (const Instance &instance : run_.trips_.instances()) addInstance(instance);
  }

  void addPlace(TripsId trips, std::int32_t agent) {
    const AgentRun &run = run_.agents_[static_cast<std::size_t>(agent)];
    const std::int32_t at = run.isDone ? kBehind : run.at[trips.index()];
    add(at == kBehind ? -2 : std::min(at, model_.mostDone[trips.index()] + 1));
    if (at == kBefore || at == kBehind) return;
    const Instance *known = run_.trips_.find(trips, run.at);
    add(known ? known->count - at : -at);
    add(known && known->isExact);
  }

  void addInstance(const Instance &instance) {
    add(instance.trips.index());
    add(instance.isExact);
    const std::int32_t most = model_.mostCount[instance.trips.index()] + 1;
    add(isAwaited(instance, &LastTripUses::forLoop)    ? instance.count
        : isAwaited(instance, &LastTripUses::forCount) ? std::min(instance.count, most)
                                                       : -1);
    add(outerDistance(instance));
  }

  /// Whether a role may still ask: to begin a loop over these trips, the first or one more, or for
  /// a condition on how many they are.
  bool isAwaited(const Instance &instance, std::int32_t LastTripUses::*until) const {
    for (std::int32_t agent = 0; agent < run_.agents(); ++agent) {
      const auto a = static_cast<std::size_t>(agent);
      const AgentRun &run = run_.agents_[a];
      const LastTripUses &asks = model_.asks[model_.agents[a].role.index()][instance.trips.index()];
      if (run.isDone || asks.*until < 0) continue;
      const auto around = tripsAround(program_, instance.trips, run.at);
      if (std::ranges::lexicographical_compare(around, instance.around)) return true;
      if (!std::ranges::equal(around, instance.around)) continue;
      if (asks.isRepeated || run.pc <= asks.*until) return true;
    }
    return false;
  }

  /// Which trip of the loop around it this instance belongs to, seen from what is decided of that.
  std::int32_t outerDistance(const Instance &instance) const {
    if (instance.around.empty()) return 0;
    const TripsId outer = program_[instance.trips].within;
    for (const Instance &around : run_.trips_.instances())
      if (around.trips == outer &&
          std::equal(around.around.begin(), around.around.end(), instance.around.begin()))
        return around.count - instance.around.back();
    return 0;
  }

  static constexpr std::int32_t kUnmade = -2; // a barrier, in an event's place

  const Run &run_;
  const Model &model_;
  const Program &program_;
  ClockPlaces &places_;
  const Listing &order_;
  std::vector<std::pair<LivePlace, std::int32_t>> unknown_;    // of those, and how much
  std::vector<std::int32_t> lastOne_;                          // of what may repeat,
  std::size_t last_ = std::numeric_limits<std::size_t>::max(); // and where it is
  Signature out_;
};

void weaken(Run &run, const Signature &signature, const Signature::ClockLags &lacks) {
  signature.places->weaken(run, signature.lacks, lacks);
}

Signature signatureOf(const Run &run) {
  const auto places = std::make_shared<ClockPlaces>(run);
  Signature signature = SignatureMaker(run, *places).take();
  signature.places = places;
  return signature;
}

bool knowsNoMore(const Signature::ClockLags &one, const Signature::ClockLags &other) {
  auto at = one.begin();
  return std::ranges::all_of(other, [&](const Signature::ClockLag &lack) {
    while (at != one.end() && placeOf(*at) < placeOf(lack)) ++at;
    return at != one.end() && placeOf(*at) == placeOf(lack) && at->count >= lack.count;
  });
}

Signature::ClockLags common(const Signature::ClockLags &one, const Signature::ClockLags &other) {
  Signature::ClockLags out;
  out.reserve(one.size() + other.size());
  auto at = one.begin();
  for (const Signature::ClockLag &lack : other) {
    while (at != one.end() && placeOf(*at) < placeOf(lack)) out.push_back(*at++);
    out.push_back(lack);
    if (at == one.end() || placeOf(*at) != placeOf(lack)) continue;
    out.back().count = std::max(lack.count, at->count);
    ++at;
  }
  out.insert(out.end(), at, one.end());
  return out;
}

} // namespace imbrex::schedule::check
