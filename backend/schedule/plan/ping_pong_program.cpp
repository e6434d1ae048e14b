#include "backend/schedule/plan/compute_groups.h"
#include "backend/schedule/plan/ping_pong.h"
#include "backend/schedule/program/attributes.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

// From sequential work to clusters, and from clusters to the program of both groups.
namespace imbrex::schedule {

namespace {

bool touches(const ScheduleOp &op, BufferId buffer) {
  return llvm::any_of(op.accesses, [&](const Access &access) { return access.buffer == buffer; });
}

/// Sorts a trip's operations into loads, stores and clusters.
class Cutter {
public:
  explicit Cutter(TurnLoop &turns) : turns_(turns) {}

  /// Returns why it cannot be done; empty: it is.
  std::string_view operator()(const std::vector<ScheduleOp> &trip, LastCluster last) {
    for (const ScheduleOp &op : trip)
      if (const std::string_view why = place(op); !why.empty()) return why;
    if (clusters().empty() || clusters().size() % 2 != 0)
      return "reads and arithmetic do not take turns";
    for (const LoopBuffer &piece : turns_.pieces) {
      if (piece.registers.valid() != turns_.isStaged())
        return "some loads go through registers, and others do not";
      if (!piece.buffer.valid()) return "a piece is loaded that nothing stores";
      if (!isRead(piece)) return "a piece is loaded that nothing reads";
    }
    return last == LastCluster::Halved ? halve() : "";
  }

private:
  std::vector<std::vector<ScheduleOp>> &clusters() const { return turns_.clusters; }

  bool isRead(const LoopBuffer &piece) const {
    return llvm::any_of(clusters(), [&](const std::vector<ScheduleOp> &cluster) {
      return llvm::any_of(cluster, [&](const ScheduleOp &op) { return touches(op, piece.buffer); });
    });
  }

  std::string_view place(const ScheduleOp &op) {
    if (hasBody(op.kind)) return "a trip's clusters are one after the other";
    if (clusters().empty() && op.kind == ScheduleOpKind::Issue && op.queue == turns_.loads)
      return addLoad(op);
    if (LoopBuffer *piece = clusters().empty() ? loadedInto(op) : nullptr)
      return addStore(op, *piece);
    if (loadedInto(op)) return "what is loaded into registers is stored before it is read";
    const bool isMemory = llvm::any_of(turns_.pieces, [&](const LoopBuffer &piece) {
      return piece.buffer.valid() && touches(op, piece.buffer);
    });
    if (clusters().empty() && !isMemory) return "a trip begins with what it reads of its loads";
    const bool inMemory = clusters().size() % 2 == 1;
    if (isMemory != inMemory) clusters().emplace_back();
    clusters().back().push_back(op);
    return {};
  }

  std::string_view addLoad(const ScheduleOp &op) {
    if (op.accesses.size() != 1) return "a load is of one piece";
    const BufferId into = op.accesses.front().buffer;
    const bool isStaged = turns_.work[into].space == Space::Registers;
    turns_.pieces.push_back({.buffer = isStaged ? BufferId() : into,
                             .entries = op.count,
                             .registers = isStaged ? into : BufferId()});
    turns_.issues.push_back(op);
    return {};
  }

  /// The piece that has been loaded into registers that an operation touches.
  LoopBuffer *loadedInto(const ScheduleOp &op) const {
    const auto found = llvm::find_if(turns_.pieces, [&](const LoopBuffer &piece) {
      return piece.registers.valid() && touches(op, piece.registers);
    });
    return found == turns_.pieces.end() ? nullptr : &*found;
  }

  std::string_view addStore(const ScheduleOp &op, LoopBuffer &piece) {
    const auto written =
        llvm::find_if(op.accesses, [](const Access &access) { return access.writes; });
    if (op.accesses.size() != 2 || written == op.accesses.end() ||
        written->buffer == piece.registers || piece.buffer.valid())
      return "a store is of one piece";
    piece.buffer = written->buffer;
    turns_.stores.resize(turns_.pieces.size());
    turns_.stores[static_cast<std::size_t>(&piece - turns_.pieces.data())] = op;
    return {};
  }

  std::string_view halve() const {
    std::vector<ScheduleOp> &last = clusters().back();
    if (last.size() < 2) return "a single operation is behind the last read";
    const auto weightOf = [](const ScheduleOp &op) { return std::max(1, op.cost.cycles); };
    std::int64_t all = 0;
    for (const ScheduleOp &op : last) all += weightOf(op);
    auto middle = last.begin() + 1;
    for (std::int64_t first = weightOf(last.front()); middle + 1 != last.end(); ++middle) {
      first += weightOf(*middle);
      if (2 * first > all) break;
    }
    std::vector<ScheduleOp> second(middle, last.end());
    last.erase(middle, last.end());
    clusters().emplace_back(); // of memory, without reads
    clusters().push_back(std::move(second));
    return {};
  }

  TurnLoop &turns_;
};

} // namespace

std::optional<TurnLoop> cutIntoClusters(const Program &work, QueueId loads, TripsId trips,
                                        std::int32_t slots, std::string &why, LastCluster last) {
  why.clear();
  const Role &role = work.roles.front();
  const auto isLoop = [&](const ScheduleOp &op) {
    return op.kind == ScheduleOpKind::For && op.trips == trips;
  };
  const auto loop = std::ranges::find_if(role.body, isLoop);
  if (loop == role.body.end() || loop->first != 0 || loop->less != 0)
    why = "turns are taken in a loop that stands in no other";
  else if (role.warps % 2 != 0)
    why = "the warps make no two equal groups";
  else if (work[loads].grouped)
    why = "loads in groups are not counted one by one";
  if (!why.empty()) return std::nullopt;
  TurnLoop turns;
  turns.work = work;
  turns.trips = trips;
  turns.loads = loads;
  turns.slots = slots;
  why = Cutter(turns)(loop->body, last);
  if (turns.isStaged()) {
    turns.slots = last == LastCluster::Halved ? 1 : 2;
    turns.stages = slots;
  }
  return why.empty() ? std::optional(std::move(turns)) : std::nullopt;
}

namespace {

class TurnWriter {
public:
  TurnWriter(const TurnLoop &loop, const Placement &placement)
      : loop_(loop), placement_(placement), waits_(waitsByLeft(loop, placement)) {}

  Program operator()() {
    program_ = loop_.work;
    program_.roles.clear();
    program_.queues.clear();
    makeSlots();
    if (loop_.isStaged()) makeStaging();
    const Role &role = loop_.work.roles.front();
    all_ = MeetingId(static_cast<std::uint32_t>(program_.meetings.size()));
    program_.meetings.push_back({.name = "all", .parties = role.warps});
    for (const std::uint32_t group : {0u, 1u}) writeGroup(group, role);
    return std::move(program_);
  }

private:
  /// Each group loads its half of a piece.
  void makeSlots() {
    ring_ = RingId(static_cast<std::uint32_t>(program_.rings.size()));
    program_.rings.push_back({.name = "slots", .depth = loop_.slots});
    for (const LoopBuffer &piece : loop_.pieces) {
      Buffer &first = program_.buffers[piece.buffer.index()];
      first.ring = ring_;
      first.bytes /= 2;
      first.parts = std::max(1, first.parts / 2);
      Buffer second = first;
      first.name += ".0";
      second.name += ".1";
      halves_[piece.buffer] = {piece.buffer,
                               BufferId(static_cast<std::uint32_t>(program_.buffers.size()))};
      program_.buffers.push_back(std::move(second));
    }
  }

  void makeStaging() {
    staging_ = RingId(static_cast<std::uint32_t>(program_.rings.size()));
    program_.rings.push_back({.name = "staging", .depth = loop_.stages});
    for (const LoopBuffer &piece : loop_.pieces)
      program_.buffers[piece.registers.index()].ring = staging_;
  }

  CursorId makeCursor(const std::string &name, RoleId role, RingId ring) {
    program_.cursors.push_back({.name = name + std::to_string(group_), .role = role, .ring = ring});
    return CursorId(static_cast<std::uint32_t>(program_.cursors.size()) - 1);
  }

  void writeGroup(std::uint32_t group, const Role &role) {
    group_ = group;
    const RoleId id(static_cast<std::uint32_t>(program_.roles.size()));
    const std::string name = role.name + std::to_string(group);
    cursors_ = {makeCursor("use", id, ring_)};
    if (loop_.isStaged()) cursors_.push_back(makeCursor("staged", id, staging_));
    queues_.clear();
    for (const Queue &queue : loop_.work.queues) {
      queues_.emplace_back(static_cast<std::uint32_t>(program_.queues.size()));
      program_.queues.push_back(queue);
      program_.queues.back().role = id;
    }
    std::vector<ScheduleOp> body;
    for (const ScheduleOp &op : role.body) {
      if (op.kind == ScheduleOpKind::For && op.trips == loop_.trips)
        writeLoop(op, body);
      else
        add(op, body);
    }
    program_.roles.push_back({.name = name, .warps = role.warps / 2, .body = std::move(body)});
  }

  /// The first loads, the trips that load, and those that do not.
  void writeLoop(const ScheduleOp &loop, std::vector<ScheduleOp> &body) {
    const std::int32_t most = mostAhead(loop_, placement_);
    for (std::int32_t use = 0; use < most - loop_.stages; ++use)
      body.push_back(guarded(use, firstFills(use)));
    loop_.isStaged() ? addFirstStages(body) : drain({queueOf(loop_.loads)}, body);
    meet(body);
    if (group_ == 1) meet(body);
    ScheduleOp trips = loop;
    trips.less = most;
    trips.body = trip(most + 1);
    body.push_back(std::move(trips));
    for (std::int32_t left = most; left > 0; --left) body.push_back(guarded(left - 1, trip(left)));
    if (group_ == 0) meet(body);
  }

  /// Of the slots for a trip, before the loop.
  std::vector<ScheduleOp> firstFills(std::int32_t use) const {
    std::vector<ScheduleOp> body, stores;
    for (std::size_t piece = 0; piece < placement_.size(); ++piece) {
      if (use >= placement_[piece].ahead) continue;
      body.push_back(loadOf(piece, use));
      if (loop_.isStaged()) stores.push_back(storeOf(piece, use));
    }
    if (!loop_.isStaged()) return body;
    drain({queueOf(loop_.loads)}, body);
    const std::vector<QueueId> queues = queuesOf(stores);
    std::ranges::move(stores, std::back_inserter(body));
    drain(queues, body);
    return body;
  }

  /// What the loop's first trips store is under way before them, in the order in which trips before
  /// those would have loaded it: waits count what is younger.
  void addFirstStages(std::vector<ScheduleOp> &body) const {
    for (std::int32_t trip = -loop_.stages; trip < 0; ++trip)
      for (std::int32_t cluster = 0; cluster < clusters(); ++cluster)
        for (std::size_t piece = 0; piece < placement_.size(); ++piece) {
          if (placement_[piece].cluster != cluster) continue;
          const std::int32_t use = trip + loadAhead(loop_, placement_[piece]);
          ScheduleOp more = guarded(use, {});
          if (body.empty() || body.back().kind != ScheduleOpKind::If ||
              body.back().guard != more.guard)
            body.push_back(std::move(more));
          body.back().body.push_back(loadOf(piece, use));
        }
  }

  ScheduleOp guarded(std::int32_t than, std::vector<ScheduleOp> body) const {
    return {.kind = ScheduleOpKind::If,
            .guard = {.measure = Guard::Measure::Count, .trips = loop_.trips, .than = than},
            .body = std::move(body)};
  }

  /// One with so many left, itself among them; of the most that are told apart, or more.
  std::vector<ScheduleOp> trip(std::int32_t left) const {
    std::vector<ScheduleOp> body;
    std::vector<QueueId> late;
    for (std::int32_t cluster = 0; cluster < clusters(); ++cluster) {
      drain(late, body);
      for (const ScheduleOp &op : opsOf(cluster)) add(op, body);
      late = loop_.isStaged() ? store(cluster, left, body) : load(cluster, left, body);
      meet(body);
    }
    for (const CursorId cursor : cursors_)
      body.push_back({.kind = ScheduleOpKind::Advance, .cursor = cursor});
    return body;
  }

  /// Loads into slots, and what is waited for where the cluster ends. Returns what is waited for
  /// behind it.
  std::vector<QueueId> load(std::int32_t cluster, std::int32_t left,
                            std::vector<ScheduleOp> &body) const {
    addLoads(cluster, left, body);
    std::vector<QueueId> reads = readsOf(cluster), late;
    if (endsLate(loop_, cluster)) std::swap(reads, late);
    drain(reads, body);
    waitForLoads(cluster, left, body);
    return late;
  }

  /// Registers into slots, which is over where the cluster ends, and loads into these registers.
  std::vector<QueueId> store(std::int32_t cluster, std::int32_t left,
                             std::vector<ScheduleOp> &body) const {
    std::vector<ScheduleOp> stores;
    for (std::size_t piece = 0; piece < placement_.size(); ++piece)
      if (placement_[piece].cluster == cluster && placement_[piece].ahead < left)
        stores.push_back(storeOf(piece, placement_[piece].ahead));
    if (!stores.empty()) waitForLoads(cluster, left, body);
    std::vector<QueueId> now = queuesOf(stores), late;
    std::ranges::move(stores, std::back_inserter(body));
    for (const QueueId queue : readsOf(cluster))
      if (!llvm::is_contained(now, queue)) (endsLate(loop_, cluster) ? late : now).push_back(queue);
    drain(now, body);
    addLoads(cluster, left, body);
    return late;
  }

  void addLoads(std::int32_t cluster, std::int32_t left, std::vector<ScheduleOp> &body) const {
    for (std::size_t piece = 0; piece < placement_.size(); ++piece) {
      const std::int32_t ahead = loadAhead(loop_, placement_[piece]);
      if (placement_[piece].cluster == cluster && ahead < left)
        body.push_back(loadOf(piece, ahead));
    }
  }

  void waitForLoads(std::int32_t cluster, std::int32_t left, std::vector<ScheduleOp> &body) const {
    const ClusterWaits &waits = waits_[static_cast<std::size_t>(left) - 1];
    if (const auto wait = waits.find(cluster); wait != waits.end())
      drain({queueOf(loop_.loads)}, body, std::min(wait->second, loop_.work[loop_.loads].capacity));
  }

  std::int32_t clusters() const { return static_cast<std::int32_t>(loop_.clusters.size()); }
  const std::vector<ScheduleOp> &opsOf(std::int32_t cluster) const {
    return loop_.clusters[static_cast<std::size_t>(cluster)];
  }
  /// Those that operations are issued on.
  static std::vector<QueueId> queuesOf(const std::vector<ScheduleOp> &ops) {
    std::vector<QueueId> queues;
    for (const ScheduleOp &op : ops)
      if (op.kind == ScheduleOpKind::Issue && !llvm::is_contained(queues, op.queue))
        queues.push_back(op.queue);
    return queues;
  }

  /// Those that a cluster of memory reads by.
  std::vector<QueueId> readsOf(std::int32_t cluster) const {
    if (cluster % 2 != 0) return {};
    std::vector<QueueId> queues = queuesOf(opsOf(cluster));
    for (QueueId &queue : queues) queue = queueOf(queue);
    return queues;
  }

  void drain(const std::vector<QueueId> &queues, std::vector<ScheduleOp> &body,
             std::int32_t count = 0) const {
    for (const QueueId queue : queues)
      body.push_back({.kind = ScheduleOpKind::Drain, .count = count, .queue = queue});
  }

  ScheduleOp loadOf(std::size_t piece, std::int32_t use) const {
    return fill(loop_.issues[piece], use);
  }
  ScheduleOp storeOf(std::size_t piece, std::int32_t use) const {
    return fill(loop_.stores[piece], use);
  }

  /// Of registers, or of the half that is this group's.
  ScheduleOp fill(ScheduleOp op, std::int32_t use) const {
    if (op.queue.valid()) op.queue = queueOf(op.queue);
    op.cost = halved(op.cost);
    for (Access &access : op.accesses) {
      const auto halves = halves_.find(access.buffer);
      access.index = {cursors_[halves == halves_.end() ? 1 : 0], use};
      if (halves != halves_.end()) access.buffer = halves->second[group_];
    }
    return op;
  }

  /// A read is of the halves that both groups have loaded.
  void add(const ScheduleOp &op, std::vector<ScheduleOp> &body) const {
    ScheduleOp own = op;
    own.cost = halved(own.cost);
    own.accesses.clear();
    for (const Access &access : op.accesses) {
      const auto halves = halves_.find(access.buffer);
      const auto piece = std::ranges::find(loop_.pieces, access.buffer, &LoopBuffer::buffer);
      if (halves == halves_.end()) own.accesses.push_back(access);
      if (halves == halves_.end() || !piece->readBy[group_]) continue;
      for (const BufferId half : halves->second) {
        own.accesses.push_back(access);
        own.accesses.back().buffer = half;
        own.accesses.back().index = {cursors_.front()};
      }
    }
    if (own.queue.valid()) own.queue = queueOf(own.queue);
    body.push_back(std::move(own));
  }

  void meet(std::vector<ScheduleOp> &body) const {
    body.push_back({.kind = ScheduleOpKind::Meet, .meeting = all_});
  }
  QueueId queueOf(QueueId given) const { return queues_[given.index()]; }

  const TurnLoop &loop_;
  const Placement &placement_;
  const std::vector<ClusterWaits> waits_; // by trips left
  Program program_;
  RingId ring_, staging_;
  std::map<BufferId, std::array<BufferId, 2>> halves_;
  MeetingId all_;
  std::uint32_t group_ = 0;
  std::vector<CursorId> cursors_; // of the slots, and of the registers where there are some
  std::vector<QueueId> queues_;   // of the group, by queue of the work
};

} // namespace

Program programOf(const TurnLoop &loop, const Placement &placement) {
  return TurnWriter(loop, placement)();
}

} // namespace imbrex::schedule
