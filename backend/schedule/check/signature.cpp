#include "backend/schedule/check/signature.h"

#include "backend/schedule/check/run.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>

namespace imbrex::schedule::check {

class SignatureMaker {
public:
  explicit SignatureMaker(const Run &run)
      : run_(run), model_(*run.model_), program_(run.model_->program) {}

  void weaken(Run &run, const Signature::Lacks &lacks) {
    take();
    for (const Signature::Lack &lack : lacks) {
      const auto width = static_cast<std::int32_t>(run_.width_);
      const bool ofPhases = lack.place >= width;
      const std::int32_t half = ofPhases ? 0 : lack.place / model_.axes * model_.axes;
      const std::int32_t axis =
          axisOrder_[static_cast<std::size_t>(ofPhases ? lack.place - width : lack.place - half)];
      const auto &times = events_[static_cast<std::size_t>(half + axis)];
      const std::int32_t most =
          ofPhases ? phaseOf(axis) - lack.count
                   : times[times.size() - static_cast<std::size_t>(lack.count)] - 1;
      const std::int32_t row = rows_[static_cast<std::size_t>(lack.row)];
      if (run.clock(row)[half + axis] > most) run.ownClock(row)[half + axis] = most;
    }
  }

  Signature take() {
    horizon_ = run_.horizon();
    collectEvents();
    findBases();
    orderSlots();
    findLive();
    for (std::int32_t agent = 0; agent < run_.agents(); ++agent) addAgent(agent);
    addBarriers();
    for (std::int32_t number = 0; number < model_.meetingNumbers; ++number) addMeeting(number);
    addCells();
    addTrips();
    return std::move(out_);
  }

private:
  void add(std::int64_t value) { out_.rest.push_back(static_cast<std::int32_t>(value)); }

  void live(std::int32_t place, std::int32_t time) {
    const auto p = static_cast<std::size_t>(place);
    if (time > horizon_[p]) events_[p].push_back(time);
  }

  void live(const Touch &touch, bool isWrite) {
    if (touch.end.axis < 0) return;
    live(touch.end.axis, touch.end.time);
    if (isWrite && run_.isSeenByProxy(touch)) live(model_.axes + touch.end.axis, touch.end.time);
  }

  void collectEvents() {
    events_.resize(run_.width_);
    for (const Cell &cell : run_.cells_) {
      if (cell.write.op) live(cell.write, true);
      for (const Touch &read : cell.reads) live(read, false);
    }
    for (const SlotRun &slot : run_.slots_) {
      for (const Event &pass : slot.passes) live(pass.axis, pass.time);
      if (slot.made.axis < 0) continue;
      live(slot.made.axis, slot.made.time);
      if (model_.hasProxies) live(model_.axes + slot.made.axis, slot.made.time);
    }
    for (auto &times : events_) {
      std::ranges::sort(times);
      times.erase(std::unique(times.begin(), times.end()), times.end());
    }
  }

  template <class Visit>
  void forQueues(std::int32_t agent, Visit visit) const {
    const RoleId role = model_.agents[static_cast<std::size_t>(agent)].role;
    for (std::uint32_t q = 0; q < program_.queues.size(); ++q)
      if (program_.queues[q].role == role)
        visit(QueueId(q),
              run_.queues_[static_cast<std::size_t>(model_.queueOf(agent, QueueId(q)))]);
  }

  /// How many of the live events at this place of a row are over by `time`.
  std::int32_t rank(std::int32_t place, std::int32_t time) const {
    const auto &times = events_[static_cast<std::size_t>(place)];
    return static_cast<std::int32_t>(std::ranges::upper_bound(times, time) - times.begin());
  }

  /// For each ring, the least use that anything can still name. Slots are told apart by where they
  /// lie from there on, and phases by how they differ from that use's: a ring is the same from each
  /// of its slots on, unless somebody says where in memory it lies.
  void findBases() {
    constexpr auto kNone = std::numeric_limits<std::int64_t>::max();
    bases_.assign(program_.rings.size(), kNone);
    for (std::int32_t agent = 0; agent < run_.agents(); ++agent) {
      if (run_.agents_[static_cast<std::size_t>(agent)].isDone) continue;
      forCursors(agent, [&](CursorId id, std::int64_t use) {
        std::int64_t &base = bases_[program_[id].ring.index()];
        base = std::min(base, use + model_.lowest[id.index()]);
      });
    }
    for (std::int64_t &base : bases_)
      if (base == kNone) base = 0;
    for (const Buffer &buffer : program_.buffers) {
      if (!buffer.offset || !buffer.ring.valid()) continue;
      const std::int32_t period = 2 * program_.depthOf(buffer.ring);
      std::int64_t &base = bases_[buffer.ring.index()];
      base = roundOfUse(base, period) * period;
    }
    // A cursor that goes back comes to a use by its number, however far others are by then.
    for (std::size_t ring = 0; ring < bases_.size(); ++ring)
      if (model_.resets[ring]) bases_[ring] = 0;
  }

  std::int64_t baseOf(RingId ring) const { return ring.valid() ? bases_[ring.index()] : 0; }

  void orderSlots() {
    const std::int32_t first = model_.axisOfSlot(0);
    for (std::int32_t axis = 0; axis < first; ++axis) axisOrder_.push_back(axis);
    for (std::uint32_t b = 0; b < program_.barriers.size(); ++b) {
      const RingId ring = program_.barriers[b].ring;
      for (std::int32_t i = 0; i < program_.depthOf(ring); ++i)
        axisOrder_.push_back(model_.axisOfSlot(model_.slotOf(BarrierId(b), baseOf(ring) + i)));
    }
    for (std::int32_t axis = first + model_.slots; axis < model_.axes; ++axis)
      axisOrder_.push_back(axis);
    axisPlace_.resize(axisOrder_.size());
    for (std::size_t place = 0; place < axisOrder_.size(); ++place)
      axisPlace_[static_cast<std::size_t>(axisOrder_[place])] = static_cast<std::int32_t>(place);
  }

  template <class Visit>
  void forCursors(std::int32_t agent, Visit visit) const {
    const RoleId role = model_.agents[static_cast<std::size_t>(agent)].role;
    for (std::uint32_t c = 0; c < program_.cursors.size(); ++c)
      if (program_.cursors[c].role == role)
        visit(CursorId(c), run_.useOf(agent, {.cursor = CursorId(c)}));
  }

  void addAgent(std::int32_t agent) {
    const AgentRun &run = run_.agents_[static_cast<std::size_t>(agent)];
    add(run.isDone ? -1 : run.pc);
    add(run.meetingTurn >= 0);
    if (!run.isDone)
      forCursors(agent, [&](CursorId id, std::int64_t use) {
        add(use - bases_[program_[id].ring.index()]);
      });
    addClock(agent);
    forQueues(agent, [&](QueueId id, const QueueRun &queue) {
      // How many were issued, the live ones among them tell: none is issued later.
      for (const auto &[entries, ops] : queue.ends) {
        const std::int32_t deepest = model_.deepest[id.index()];
        add(std::min(queue.entries - entries, deepest));
        add(rank(model_.axisOf(agent, id), ops));
      }
      add(-1);
    });
  }

  /// The numbers of a clock that tell one run from another, in order.
  void findLive() {
    for (std::int32_t half = 0; half < static_cast<std::int32_t>(run_.width_); half += model_.axes)
      for (std::int32_t i = 0; i < model_.axes; ++i) {
        const std::int32_t place = half + axisOrder_[static_cast<std::size_t>(i)];
        if (!events_[static_cast<std::size_t>(place)].empty())
          live_.push_back({.order = half + i, .place = place});
      }
    for (std::int32_t i = model_.axisOfSlot(0); i < model_.axes; ++i) {
      const std::int32_t axis = axisOrder_[static_cast<std::size_t>(i)];
      if (phaseOf(axis) > horizon_[static_cast<std::size_t>(axis)])
        live_.push_back(
            {.order = static_cast<std::int32_t>(run_.width_) + i, .place = axis, .ofPhases = true});
    }
  }

  /// What every role knows, nobody learns from this row.
  void addClock(std::int32_t row) {
    const auto number = static_cast<std::int32_t>(rows_.size());
    rows_.push_back(row);
    const std::int32_t *clock = run_.clock(row);
    for (const LivePlace &live : live_) {
      const auto place = static_cast<std::size_t>(live.place);
      const std::int32_t time = std::max(clock[place], horizon_[place]);
      // With less than the phase before the last every wait and arrival fails.
      const std::int32_t lacks =
          live.ofPhases ? std::clamp(phaseOf(live.place) - time, 0, 2)
                        : static_cast<std::int32_t>(events_[place].size()) - rank(live.place, time);
      if (lacks > 0) out_.lacks.push_back({.row = number, .place = live.order, .count = lacks});
    }
  }

  std::int32_t phaseOf(std::int32_t axis) const {
    const std::int32_t slot = axis - model_.axisOfSlot(0);
    if (slot < model_.slots) return run_.slots_[static_cast<std::size_t>(slot)].phase;
    return run_.meetings_[static_cast<std::size_t>(slot - model_.slots)].phase;
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
    for (std::uint32_t b = 0; b < program_.barriers.size(); ++b) {
      const RingId ring = program_.barriers[b].ring;
      for (std::int32_t i = 0; i < program_.depthOf(ring); ++i) {
        const std::int64_t use = baseOf(ring) + i;
        const std::int32_t slot = model_.slotOf(BarrierId(b), use);
        addRepeated([&] { addSlot(slot, roundOfUse(use, program_.depthOf(ring))); });
        addClock(run_.rowOfPhase(slot));
        addClock(run_.rowOfLast(slot));
      }
      endRepeated();
    }
  }

  void addSlot(std::int32_t slot, std::int64_t round) {
    const SlotRun &run = run_.slots_[static_cast<std::size_t>(slot)];
    add((run.phase - round) & 1);
    add(run.missing);
    add(run.expected - run.landed);
    add(run.isMade);
    if (run.isMade) addEvent(run.made);
    for (const Event &pass : run.passes) {
      add(axisPlace_[static_cast<std::size_t>(pass.axis)]);
      add(rank(pass.axis, pass.time));
    }
    add(-1);
  }

  void addMeeting(std::int32_t number) {
    const MeetingRun &run = run_.meetings_[static_cast<std::size_t>(number)];
    add(run.here);
    add(run.here > 0 ? run.which.index() : 0);
    addClock(run_.rowOfMeeting(number));
    addClock(run_.rowOfMeeting(number) + 1);
  }

  void addEvent(const Event &event, bool forProxy = true) {
    if (event.axis < 0) return add(-1);
    add(axisPlace_[static_cast<std::size_t>(event.axis)]);
    add(rank(event.axis, event.time));
    if (model_.hasProxies && forProxy) add(rank(model_.axes + event.axis, event.time));
  }

  void addTouch(const Touch &touch, bool isWrite) {
    addEvent(touch.end, isWrite);
    add(touch.end.axis >= 0 && touch.isAsync);
  }

  void addCells() {
    for (std::uint32_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer &buffer = program_.buffers[b];
      const std::int32_t copies = buffer.space == Space::Registers ? run_.agents() : 1;
      for (std::int32_t copy = 0; copy < copies; ++copy)
        for (std::int32_t i = 0; i < program_.depthOf(buffer.ring); ++i) {
          const Access whole = {.buffer = BufferId(b)};
          const CellRange range = model_.cellsOf(whole, baseOf(buffer.ring) + i, copy);
          for (std::int32_t c = range.first; c < range.first + range.count; ++c)
            addRepeated([&] { addCell(run_.cells_[static_cast<std::size_t>(c)]); });
        }
      endRepeated();
    }
  }

  /// Whether the cell holds what no cursor comes to again, of a ring whose cursors all go on.
  bool isStale(const Touch &write) const {
    if (!write.hasUse || write.end.axis >= 0) return false;
    const RingId ring = program_[write.buffer].ring;
    return write.use < bases_[ring.index()] && !model_.resets[ring.index()];
  }

  void addCell(const Cell &cell) {
    const bool isWritten = cell.write.op && !isStale(cell.write);
    add(isWritten);
    if (isWritten) {
      addTouch(cell.write, true);
      add(cell.write.buffer.index());
      add(cell.write.end.axis >= 0 && cell.write.op->kind == OpKind::Access);
      if (cell.write.hasUse) {
        const RingId ring = program_[cell.write.buffer].ring;
        const std::int64_t use = cell.write.use - bases_[ring.index()];
        add(model_.resets[ring.index()] ? use : std::max<std::int64_t>(use, -1));
      }
    }
    for (const Touch &read : cell.reads) addTouch(read, false);
    add(-1);
  }

  /// Where an agent is in a loop matters only against what is decided of it, and in its first
  /// trips.
  void addTrips() {
    for (std::uint32_t t = 0; t < program_.trips.size(); ++t)
      for (std::int32_t agent = 0; agent < run_.agents(); ++agent) addPlace(TripsId(t), agent);
    for (const Instance &instance : run_.trips_.instances()) addInstance(instance);
  }

  void addPlace(TripsId trips, std::int32_t agent) {
    const AgentRun &run = run_.agents_[static_cast<std::size_t>(agent)];
    const std::int32_t at = run.isDone ? kBehind : run.at[trips.index()];
    add(at == kBehind ? -2 : std::min(at, model_.largest[trips.index()] + 1));
    if (at == kBefore || at == kBehind) return;
    const Instance *known = run_.trips_.find(trips, run.at);
    add(known ? known->count - at : -at);
    add(known && known->isExact);
  }

  void addInstance(const Instance &instance) {
    add(instance.trips.index());
    add(instance.isExact);
    add(isAwaited(instance) ? instance.count
                            : std::min(instance.count, model_.largest[instance.trips.index()] + 1));
    add(outerDistance(instance));
  }

  /// Whether a role that runs this loop has not come to it.
  bool isAwaited(const Instance &instance) const {
    for (std::int32_t agent = 0; agent < run_.agents(); ++agent) {
      const auto a = static_cast<std::size_t>(agent);
      const AgentRun &run = run_.agents_[a];
      if (run.isDone || !model_.loopsOver[model_.agents[a].role.index()][instance.trips.index()])
        continue;
      const auto around = tripsAround(program_, instance.trips, run.at);
      const bool isBehind = std::ranges::lexicographical_compare(around, instance.around);
      const bool isIn = std::ranges::equal(around, instance.around);
      if (isBehind || (isIn && run.at[instance.trips.index()] == kBefore)) return true;
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

  const Run &run_;
  const Model &model_;
  const Program &program_;
  /// A number of a clock, and its place in the order of the signature.
  struct LivePlace {
    std::int32_t order, place;
    bool ofPhases = false;
  };

  Horizon horizon_;
  std::vector<std::vector<std::int32_t>> events_; // by place in a row: the times of live ones
  std::vector<LivePlace> live_;
  std::vector<std::int64_t> bases_;                            // by ring
  std::vector<std::int32_t> axisOrder_, axisPlace_;            // with each ring from its base on
  std::vector<std::int32_t> rows_;                             // of clocks, as they were visited
  std::vector<std::int32_t> lastOne_;                          // of what may repeat,
  std::size_t last_ = std::numeric_limits<std::size_t>::max(); // and where it is
  Signature out_;
};

void weaken(Run &run, const Signature::Lacks &lacks) { SignatureMaker(run).weaken(run, lacks); }

Signature signatureOf(const Run &run) { return SignatureMaker(run).take(); }

namespace {

bool isEarlier(const Signature::Lack &a, const Signature::Lack &b) {
  return std::tie(a.row, a.place) < std::tie(b.row, b.place);
}

} // namespace

bool knowsNoMore(const Signature::Lacks &one, const Signature::Lacks &other) {
  auto at = one.begin();
  return std::ranges::all_of(other, [&](const Signature::Lack &lack) {
    while (at != one.end() && isEarlier(*at, lack)) ++at;
    return at != one.end() && !isEarlier(lack, *at) && at->count >= lack.count;
  });
}

Signature::Lacks common(const Signature::Lacks &one, const Signature::Lacks &other) {
  Signature::Lacks both;
  std::ranges::merge(one, other, std::back_inserter(both), isEarlier);
  Signature::Lacks out;
  for (const Signature::Lack &lack : both)
    if (out.empty() || isEarlier(out.back(), lack))
      out.push_back(lack);
    else
      out.back().count = std::max(out.back().count, lack.count);
  return out;
}

} // namespace imbrex::schedule::check
