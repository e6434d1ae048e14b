#include "backend/schedule/check/signature.h"

#include "backend/schedule/check/run.h"

#include <algorithm>

namespace imbrex::schedule::check {

namespace {

/// What a clock knows of a barrier: 2, that the last phase is over; 1, that the one before is; 0,
/// less than that, with which every wait and arrival fails.
std::int32_t knownPhases(std::int32_t behind) { return std::max(0, 2 - behind); }

} // namespace

class SignatureMaker {
public:
  explicit SignatureMaker(const Run &run)
      : run_(run), model_(*run.model_), program_(run.model_->program) {}

  /// Lowers the run's clocks; `take` has visited them in the same order.
  void weaken(Run &run, const std::vector<std::int32_t> &known) {
    take();
    auto next = known.begin();
    for (const std::int32_t row : rows_)
      forKnowledge([&](std::size_t place, std::int32_t axis, bool ofPhases) {
        const std::int32_t most = ofPhases ? latestPhase(axis, *next) : latestTime(axis, *next);
        run.clock(row)[place] = std::min(run.clock(row)[place], most);
        ++next;
      });
  }

  Signature take() {
    collectEvents();
    findBases();
    orderSlots();
    for (std::int32_t agent = 0; agent < run_.agents(); ++agent) addAgent(agent);
    addBarriers();
    for (std::int32_t number = 0; number < model_.meetingNumbers; ++number) addMeeting(number);
    addCells();
    addTrips();
    return std::move(out_);
  }

private:
  void add(std::int64_t value) { out_.rest.push_back(static_cast<std::int32_t>(value)); }

  void live(const Event &event) {
    if (event.axis >= 0) events_[static_cast<std::size_t>(event.axis)].push_back(event.time);
  }

  void collectEvents() {
    events_.resize(static_cast<std::size_t>(model_.axes));
    for (const Cell &cell : run_.cells_) {
      if (cell.write.op) live(cell.write.end);
      for (const Touch &read : cell.reads) live(read.end);
    }
    for (const SlotRun &slot : run_.slots_) {
      for (const Event &pass : slot.passes) live(pass);
      live(slot.made);
    }
    for (std::int32_t agent = 0; agent < run_.agents(); ++agent) collectDrains(agent);
    for (auto &times : events_) {
      std::ranges::sort(times);
      times.erase(std::unique(times.begin(), times.end()), times.end());
    }
  }

  /// What a drain may still teach of a queue.
  void collectDrains(std::int32_t agent) {
    forQueues(agent, [&](QueueId id, const QueueRun &queue) {
      for (const auto &[entries, ops] : queue.ends) live({model_.axisOf(agent, id), ops});
      live({model_.axisOf(agent, id), queue.ops});
    });
  }

  template <class Visit>
  void forQueues(std::int32_t agent, Visit visit) const {
    const RoleId role = model_.agents[static_cast<std::size_t>(agent)].role;
    for (std::uint32_t q = 0; q < program_.queues.size(); ++q)
      if (program_.queues[q].role == role)
        visit(QueueId(q),
              run_.queues_[static_cast<std::size_t>(model_.queueOf(agent, QueueId(q)))]);
  }

  /// How many of the axis's live events are over by `time`.
  std::int32_t rank(std::int32_t axis, std::int32_t time) const {
    const auto &times = events_[static_cast<std::size_t>(axis)];
    // Nearly always all are.
    auto known = static_cast<std::int32_t>(times.size());
    while (known > 0 && times[static_cast<std::size_t>(known) - 1] > time) --known;
    return known;
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
      add(rank(model_.axisOf(agent, id), queue.ops));
      for (const auto &[entries, ops] : queue.ends) {
        const std::int32_t deepest = model_.deepest[id.index()];
        add(std::min(queue.entries - entries, deepest));
        add(rank(model_.axisOf(agent, id), ops));
      }
      add(-1);
    });
  }

  void addClock(std::int32_t row) {
    rows_.push_back(row);
    forKnowledge([&](std::size_t place, std::int32_t axis, bool ofPhases) {
      const std::int32_t time = run_.clock(row)[place];
      out_.known.push_back(ofPhases ? knownPhases(phaseOf(axis) - time) : rank(axis, time));
    });
  }

  /// The numbers of a clock, and what each is held against: live events, a barrier's phases.
  template <class Visit>
  void forKnowledge(Visit visit) const {
    const auto axes = static_cast<std::size_t>(model_.axes);
    for (std::size_t half = 0; half < run_.width_; half += axes)
      for (const std::int32_t axis : axisOrder_)
        visit(half + static_cast<std::size_t>(axis), axis, false);
    for (const std::int32_t axis : axisOrder_)
      if (axis >= model_.axisOfSlot(0)) visit(static_cast<std::size_t>(axis), axis, true);
  }

  /// The largest time at which no more than so many live events are over.
  std::int32_t latestTime(std::int32_t axis, std::int32_t rank) const {
    const auto &times = events_[static_cast<std::size_t>(axis)];
    const auto next = static_cast<std::size_t>(rank);
    return next < times.size() ? times[next] - 1 : std::numeric_limits<std::int32_t>::max();
  }
  std::int32_t latestPhase(std::int32_t axis, std::int32_t known) const {
    return known == 2 ? std::numeric_limits<std::int32_t>::max() : phaseOf(axis) - 2 + known;
  }

  std::int32_t phaseOf(std::int32_t axis) const {
    const std::int32_t slot = axis - model_.axisOfSlot(0);
    if (slot < model_.slots) return run_.slots_[static_cast<std::size_t>(slot)].phase;
    return run_.meetings_[static_cast<std::size_t>(slot - model_.slots)].phase;
  }

  void addBarriers() {
    for (std::uint32_t b = 0; b < program_.barriers.size(); ++b) {
      const RingId ring = program_.barriers[b].ring;
      for (std::int32_t i = 0; i < program_.depthOf(ring); ++i) {
        const std::int64_t use = baseOf(ring) + i;
        addSlot(model_.slotOf(BarrierId(b), use), roundOfUse(use, program_.depthOf(ring)));
      }
    }
  }

  void addSlot(std::int32_t slot, std::int64_t round) {
    const SlotRun &run = run_.slots_[static_cast<std::size_t>(slot)];
    add((run.phase - round) & 1);
    add(run.missing);
    add(run.expected - run.landed);
    add(run.isMade);
    if (run.isMade && run.made.axis >= 0) add(rank(run.made.axis, run.made.time));
    for (const Event &pass : run.passes) {
      add(axisPlace_[static_cast<std::size_t>(pass.axis)]);
      add(rank(pass.axis, pass.time));
    }
    add(-1);
    addClock(run_.rowOfPhase(slot));
    addClock(run_.rowOfLast(slot));
  }

  void addMeeting(std::int32_t number) {
    const MeetingRun &run = run_.meetings_[static_cast<std::size_t>(number)];
    add(run.here);
    add(run.here > 0 ? run.which.index() : 0);
    addClock(run_.rowOfMeeting(number));
    addClock(run_.rowOfMeeting(number) + 1);
  }

  void addTouch(const Touch &touch) {
    add(axisPlace_[static_cast<std::size_t>(touch.end.axis)]);
    add(rank(touch.end.axis, touch.end.time));
    add(touch.isAsync);
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
            addCell(run_.cells_[static_cast<std::size_t>(c)]);
        }
    }
  }

  void addCell(const Cell &cell) {
    add(cell.write.op != nullptr);
    if (cell.write.op) {
      addTouch(cell.write);
      add(cell.write.buffer.index());
      add(cell.write.op->kind == OpKind::Access);
      if (cell.write.hasUse) {
        const RingId ring = program_[cell.write.buffer].ring;
        add(std::max<std::int64_t>(cell.write.use - bases_[ring.index()], -1));
      }
    }
    for (const Touch &read : cell.reads) addTouch(read);
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
  std::vector<llvm::SmallVector<std::int32_t, 8>> events_; // by axis: the times of live ones
  std::vector<std::int64_t> bases_;                        // by ring
  std::vector<std::int32_t> axisOrder_, axisPlace_;        // with each ring from its base on
  std::vector<std::int32_t> rows_;                         // of clocks, as they were visited
  Signature out_;
};

void weaken(Run &run, const std::vector<std::int32_t> &known) {
  SignatureMaker(run).weaken(run, known);
}

Signature signatureOf(const Run &run) { return SignatureMaker(run).take(); }

} // namespace imbrex::schedule::check
