#include "tests/support/schedule_trace.h"

#include "backend/support/check.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace imbrex::testing {

using namespace schedule;

namespace {

std::int64_t floorDivide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

std::uint32_t unsignedOf(std::int64_t value) { return static_cast<std::uint32_t>(value); }

/// Memory cut at every border of a slot or a part, so that two accesses overlap where they have a
/// cell in common.
class Cells {
public:
  explicit Cells(const Program &program) : program_(program) {
    for (std::uint32_t b = 0; b < program.buffers.size(); ++b)
      for (std::int64_t slot = 0; slot < program.depthOf(program.buffers[b].ring); ++slot)
        for (std::int32_t part = 0; part <= program.buffers[b].parts; ++part)
          borders_[area(BufferId(b))].insert(addressOf(BufferId(b), slot, part));
  }

  /// The cells of the parts [from, to) of a slot.
  std::vector<std::uint32_t> of(BufferId buffer, std::int64_t slot, std::int32_t from,
                                std::int32_t to, std::uint32_t agent) {
    const Area where = area(buffer);
    const auto &borders = borders_.at(where);
    // Registers are the agent's own, and all else is agent 0's.
    const std::uint32_t owner = program_[buffer].space == Space::Registers ? agent : 0;
    std::vector<std::uint32_t> cells;
    const auto end = borders.find(addressOf(buffer, slot, to));
    for (auto at = borders.find(addressOf(buffer, slot, from)); at != end; ++at) {
      const auto [cell, isNew] =
          numbers_.try_emplace({where, owner, *at}, unsignedOf(std::ssize(numbers_)));
      if (isNew) shared_.push_back(where.first == Space::Shared);
      cells.push_back(cell->second);
    }
    return cells;
  }

  std::uint32_t size() const { return unsignedOf(std::ssize(numbers_)); }
  const std::vector<bool> &shared() const { return shared_; }

private:
  /// A space, or a buffer that lies apart from all others.
  using Area = std::pair<Space, std::uint32_t>;

  Area area(BufferId id) const {
    return {program_[id].space, program_[id].offset ? 0 : id.index() + 1};
  }

  std::int64_t addressOf(BufferId id, std::int64_t slot, std::int32_t part) const {
    const Buffer &buffer = program_[id];
    // Without a place, no more than the parts' order is known, and none is empty.
    if (!buffer.offset) return slot * buffer.parts + part;
    return *buffer.offset + slot * buffer.bytes + buffer.bytes * part / buffer.parts;
  }

  const Program &program_;
  std::map<Area, std::set<std::int64_t>> borders_;
  std::map<std::tuple<Area, std::uint32_t, std::int64_t>, std::uint32_t> numbers_;
  std::vector<bool> shared_; // by number
};

/// What the walks of all agents have in common.
struct Context {
  const Program &program;
  const TripCount &count;
  Traces traces = {};
  Cells cells = Cells(program);
  std::vector<std::uint32_t> firstBarrier = {}; ///< The first slot of each barrier.
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> contents = {};
};

/// Walks through a role's body as one of its agents.
class Walk {
public:
  Walk(Context &context, RoleId role, std::int32_t number)
      : context_(context), program_(context.program), number_(number),
        agent_(unsignedOf(std::ssize(context.traces.agents))), cursors_(program_.cursors.size()),
        trips_(program_.trips.size()), queues_(program_.queues.size()) {
    context.traces.agents.emplace_back();
    for (std::size_t q = 0; q < program_.queues.size(); ++q) {
      if (program_.queues[q].role != role) continue;
      queues_[q].name = unsignedOf(std::ssize(context.traces.queues));
      context.traces.queues.push_back({.serial = program_.queues[q].serial, .agent = agent_});
    }
    run(program_[role].body);
  }

private:
  struct Queued {
    std::uint32_t name = 0;
    std::vector<std::int64_t> entries =
        {};                  ///< Of each operation, the number that its last one has.
    std::int64_t issued = 0; ///< Entries; groups where there are any.
  };

  struct Position {
    std::int64_t use = 0;
    std::int64_t before = 0; ///< Uses before the last reset.
  };

  static void reset(Position &cursor) { cursor = {.use = 0, .before = cursor.before + cursor.use}; }

  void run(const std::vector<ScheduleOp> &body) {
    for (const ScheduleOp &op : body) run(op);
  }

  void run(const ScheduleOp &op) {
    switch (op.kind) {
    case ScheduleOpKind::For: runLoop(op); return;
    case ScheduleOpKind::If:
      if (measure(op.guard) > op.guard.than) run(op.body);
      return;
    case ScheduleOpKind::Advance: ++cursors_[op.cursor.index()].use; return;
    case ScheduleOpKind::Reset: reset(cursors_[op.cursor.index()]); return;
    case ScheduleOpKind::Commit: ++queues_[op.queue.index()].issued; return;
    case ScheduleOpKind::Access:
    case ScheduleOpKind::Copy:
    case ScheduleOpKind::Issue:
    case ScheduleOpKind::Wait:
    case ScheduleOpKind::Arrive:
    case ScheduleOpKind::Expect:
    case ScheduleOpKind::Signal:
    case ScheduleOpKind::Drain:
    case ScheduleOpKind::Meet:
    case ScheduleOpKind::Fence:
    case ScheduleOpKind::Init: context_.traces.agents[agent_].push_back(step(op)); return;
    }
  }

  void runLoop(const ScheduleOp &op) {
    const std::int64_t end = tripsOf(op.trips) - op.less;
    auto &trip = trips_[op.trips.index()];
    const auto outer = trip;
    for (std::int64_t t = op.first; t < end; ++t) {
      trip = t;
      run(op.body);
    }
    trip = outer;
  }

  std::int64_t tripsOf(TripsId id) const {
    const TripsId within = program_[id].within;
    return context_.count(id, within.valid() ? trips_[within.index()].value_or(0) : 0);
  }

  std::int64_t measure(const Guard &guard) const {
    const std::int64_t done = trips_[guard.trips.index()].value_or(0);
    switch (guard.measure) {
    case Guard::Measure::Count: return tripsOf(guard.trips);
    case Guard::Measure::Done: return done;
    case Guard::Measure::Left: return tripsOf(guard.trips) - done;
    }
    return 0;
  }

  Step step(const ScheduleOp &op) {
    const std::uint32_t fields = info(op.kind).fields;
    Step step = {
        .kind = op.kind, .isAsync = program_.isAsync(op), .count = op.count, .bytes = op.bytes};
    for (const Access &access : op.accesses) append(access, step.accesses);
    if (fields & kBarrier) setBarrier(op, step);
    if (fields & kQueue) setQueue(op, step);
    if (op.kind == ScheduleOpKind::Copy || op.kind == ScheduleOpKind::Signal) {
      step.pending = unsignedOf(std::ssize(context_.traces.pendings));
      context_.traces.pendings.push_back(
          {agent_, unsignedOf(std::ssize(context_.traces.agents[agent_]))});
    }
    if (op.kind == ScheduleOpKind::Meet) {
      step.number = unsignedOf(program_[op.meeting].number);
      step.parties = unsignedOf(program_[op.meeting].parties);
    }
    return step;
  }

  void append(const Access &access, std::vector<CellAccess> &to) {
    const Buffer &buffer = program_[access.buffer];
    const std::int64_t use = useOf(access.index), depth = program_.depthOf(buffer.ring);
    const std::int64_t slot = use - floorDivide(use, depth) * depth;
    const bool all = access.part == Part::All;
    const std::int32_t part = access.part == Part::Own ? number_ : access.number;
    IMBREX_CHECK(all || (part >= 0 && part < buffer.parts), "a part that the buffer has not");
    const auto content =
        context_.contents.try_emplace({access.buffer.index(), use + at(access.index).before},
                                      unsignedOf(std::ssize(context_.contents) + 1));
    for (const std::uint32_t cell : context_.cells.of(access.buffer, slot, all ? 0 : part,
                                                      all ? buffer.parts : part + 1, agent_))
      to.push_back({.cell = cell, .content = content.first->second, .writes = access.writes});
  }

  void setBarrier(const ScheduleOp &op, Step &step) const {
    const std::int64_t depth = program_.depthOf(program_[op.barrier].ring);
    const std::int64_t use = useOf(op.index), phase = floorDivide(use, depth);
    step.barrier = context_.firstBarrier[op.barrier.index()];
    if (op.kind == ScheduleOpKind::Init)
      step.barriers = unsignedOf(depth);
    else
      step.barrier += unsignedOf(use - phase * depth);
    step.parity = (phase % 2 != 0) != op.flipped;
  }

  void setQueue(const ScheduleOp &op, Step &step) {
    Queued &queue = queues_[op.queue.index()];
    const bool grouped = program_[op.queue].grouped;
    step.queue = queue.name;
    if (op.kind == ScheduleOpKind::Issue) {
      if (!grouped) queue.issued += op.count;
      queue.entries.push_back(grouped ? queue.issued + 1 : queue.issued);
      context_.traces.queues[queue.name].operations.push_back(
          unsignedOf(std::ssize(context_.traces.agents[agent_])));
    }
    const std::int64_t done = op.kind == ScheduleOpKind::Drain
                                  ? queue.issued - op.count
                                  : std::numeric_limits<std::int64_t>::max();
    step.ended = unsignedOf(std::ranges::upper_bound(queue.entries, done) - queue.entries.begin());
  }

  std::int64_t useOf(const Index &index) const { return at(index).use + index.offset; }

  Position at(const Index &index) const {
    return index.cursor.valid() ? cursors_[index.cursor.index()] : Position();
  }

  Context &context_;
  const Program &program_;
  std::int32_t number_;
  std::uint32_t agent_;
  std::vector<Position> cursors_;
  std::vector<std::optional<std::int64_t>> trips_;
  std::vector<Queued> queues_;
};

bool initialises(const std::vector<ScheduleOp> &body, BarrierId barrier) {
  return std::ranges::any_of(body, [&](const ScheduleOp &op) {
    return (op.kind == ScheduleOpKind::Init && op.barrier == barrier) ||
           initialises(op.body, barrier);
  });
}

} // namespace

Traces trace(const Program &program, const TripCount &count) {
  Context context = {.program = program, .count = count};
  for (std::uint32_t b = 0; b < program.barriers.size(); ++b) {
    const Barrier &barrier = program.barriers[b];
    const bool made = std::ranges::any_of(
        program.roles, [&](const Role &role) { return initialises(role.body, BarrierId(b)); });
    context.firstBarrier.push_back(unsignedOf(std::ssize(context.traces.barriers)));
    for (std::int32_t slot = 0; slot < program.depthOf(barrier.ring); ++slot)
      context.traces.barriers.push_back({.arrivals = barrier.arrivals, .initialised = !made});
  }
  for (std::uint32_t r = 0; r < program.roles.size(); ++r)
    for (std::int32_t number = 0; number < program.roles[r].warps; ++number)
      Walk(context, RoleId(r), number);
  context.traces.cells = context.cells.size();
  context.traces.isShared = context.cells.shared();
  return std::move(context.traces);
}

} // namespace imbrex::testing
