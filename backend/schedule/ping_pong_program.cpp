#include "backend/schedule/attributes.h"
#include "backend/schedule/compute_groups.h"
#include "backend/schedule/ping_pong.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

// From sequential work to clusters, and from clusters to the program of both groups.
namespace imbrex::schedule {

namespace {

bool isRead(const TurnLoop &loop, const Piece &piece) {
  return llvm::any_of(loop.clusters, [&](const std::vector<Op> &cluster) {
    return llvm::any_of(cluster, [&](const Op &op) {
      return llvm::any_of(op.accesses,
                          [&](const Access &access) { return access.buffer == piece.buffer; });
    });
  });
}

/// Sorts a trip's operations into loads and clusters. Returns why it cannot be done; empty: it is.
std::string_view cut(const std::vector<Op> &trip, TurnLoop &turns) {
  const auto isOfPiece = [&](const Access &access) {
    return std::ranges::find(turns.pieces, access.buffer, &Piece::buffer) != turns.pieces.end();
  };
  for (const Op &op : trip) {
    if (hasBody(op.kind)) return "a trip's clusters are one after the other";
    if (op.kind == OpKind::Issue && op.queue == turns.loads && turns.clusters.empty()) {
      if (op.accesses.size() != 1) return "a load is of one piece";
      turns.pieces.push_back({.buffer = op.accesses.front().buffer, .entries = op.count});
      turns.issues.push_back(op);
      continue;
    }
    const bool isMemory = llvm::any_of(op.accesses, isOfPiece);
    if (turns.clusters.empty() && !isMemory) return "a trip begins with what it reads of its loads";
    const bool inMemory = turns.clusters.size() % 2 == 1;
    if (isMemory != inMemory) turns.clusters.emplace_back();
    turns.clusters.back().push_back(op);
  }
  if (turns.clusters.empty() || turns.clusters.size() % 2 != 0)
    return "reads and arithmetic do not take turns";
  for (const Piece &piece : turns.pieces)
    if (!isRead(turns, piece)) return "a piece is loaded that nothing reads";
  return {};
}

} // namespace

std::optional<TurnLoop> cutIntoClusters(const Program &work, QueueId loads, TripsId trips,
                                        std::int32_t slots, std::string &why) {
  why.clear();
  const Role &role = work.roles.front();
  const auto isLoop = [&](const Op &op) { return op.kind == OpKind::For && op.trips == trips; };
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
  why = cut(loop->body, turns);
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
    for (const Piece &piece : loop_.pieces) {
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

  void writeGroup(std::uint32_t group, const Role &role) {
    group_ = group;
    const RoleId id(static_cast<std::uint32_t>(program_.roles.size()));
    const std::string name = role.name + std::to_string(group);
    cursor_ = CursorId(static_cast<std::uint32_t>(program_.cursors.size()));
    program_.cursors.push_back({.name = "use" + std::to_string(group), .role = id, .ring = ring_});
    queues_.clear();
    for (const Queue &queue : loop_.work.queues) {
      queues_.emplace_back(static_cast<std::uint32_t>(program_.queues.size()));
      program_.queues.push_back(queue);
      program_.queues.back().role = id;
    }
    std::vector<Op> body;
    for (const Op &op : role.body) {
      if (op.kind == OpKind::For && op.trips == loop_.trips)
        writeLoop(op, body);
      else
        add(op, body);
    }
    program_.roles.push_back({.name = name, .warps = role.warps / 2, .body = std::move(body)});
  }

  /// The first loads, the trips that load, and those that do not.
  void writeLoop(const Op &loop, std::vector<Op> &body) {
    const std::int32_t most = mostAhead(placement_);
    for (std::int32_t use = 0; use < most; ++use) {
      std::vector<Op> first;
      for (std::size_t piece = 0; piece < placement_.size(); ++piece)
        if (use < placement_[piece].ahead) first.push_back(loadOf(piece, use));
      body.push_back(guarded(use, std::move(first)));
    }
    body.push_back({.kind = OpKind::Drain, .count = 0, .queue = queueOf(loop_.loads)});
    meet(body);
    if (group_ == 1) meet(body);
    Op trips = loop;
    trips.less = most;
    trips.body = trip(most + 1);
    body.push_back(std::move(trips));
    for (std::int32_t left = most; left > 0; --left) body.push_back(guarded(left - 1, trip(left)));
    if (group_ == 0) meet(body);
  }

  Op guarded(std::int32_t than, std::vector<Op> body) const {
    return {.kind = OpKind::If,
            .guard = {.measure = Guard::Measure::Count, .trips = loop_.trips, .than = than},
            .body = std::move(body)};
  }

  /// One with so many left, itself among them; of the most that are told apart, or more.
  std::vector<Op> trip(std::int32_t left) {
    const ClusterWaits &waits = waits_[static_cast<std::size_t>(left) - 1];
    const auto clusters = static_cast<std::int32_t>(loop_.clusters.size());
    std::vector<Op> body;
    for (std::int32_t cluster = 0; cluster < clusters; ++cluster) {
      if (loop_.readsEndLate && cluster % 2 != 0) drainReads(cluster - 1, body);
      for (const Op &op : loop_.clusters[static_cast<std::size_t>(cluster)]) add(op, body);
      for (std::size_t piece = 0; piece < placement_.size(); ++piece)
        if (placement_[piece].cluster == cluster && placement_[piece].ahead < left)
          body.push_back(loadOf(piece, placement_[piece].ahead));
      if (!loop_.readsEndLate && cluster % 2 == 0) drainReads(cluster, body);
      if (const auto wait = waits.find(cluster); wait != waits.end())
        body.push_back({.kind = OpKind::Drain,
                        .count = std::min(wait->second, loop_.work[loop_.loads].capacity),
                        .queue = queueOf(loop_.loads)});
      meet(body);
    }
    body.push_back({.kind = OpKind::Advance, .cursor = cursor_});
    return body;
  }

  void drainReads(std::int32_t cluster, std::vector<Op> &body) const {
    std::vector<QueueId> queues;
    for (const Op &op : loop_.clusters[static_cast<std::size_t>(cluster)])
      if (op.kind == OpKind::Issue && !llvm::is_contained(queues, op.queue))
        queues.push_back(op.queue);
    for (const QueueId queue : queues)
      body.push_back({.kind = OpKind::Drain, .count = 0, .queue = queueOf(queue)});
  }

  Op loadOf(std::size_t piece, std::int32_t use) const {
    Op load = loop_.issues[piece];
    load.queue = queueOf(load.queue);
    load.cost = halved(load.cost);
    Access &access = load.accesses.front();
    access.buffer = halves_.at(access.buffer)[group_];
    access.index = {cursor_, use};
    return load;
  }

  /// A read is of the halves that both groups have loaded.
  void add(const Op &op, std::vector<Op> &body) const {
    Op own = op;
    own.cost = halved(own.cost);
    own.accesses.clear();
    for (const Access &access : op.accesses) {
      const auto halves = halves_.find(access.buffer);
      const auto piece = std::ranges::find(loop_.pieces, access.buffer, &Piece::buffer);
      if (halves == halves_.end()) own.accesses.push_back(access);
      if (halves == halves_.end() || !piece->readBy[group_]) continue;
      for (const BufferId half : halves->second) {
        own.accesses.push_back(access);
        own.accesses.back().buffer = half;
        own.accesses.back().index = {cursor_};
      }
    }
    if (own.queue.valid()) own.queue = queueOf(own.queue);
    body.push_back(std::move(own));
  }

  void meet(std::vector<Op> &body) const {
    body.push_back({.kind = OpKind::Meet, .meeting = all_});
  }
  QueueId queueOf(QueueId given) const { return queues_[given.index()]; }

  const TurnLoop &loop_;
  const Placement &placement_;
  const std::vector<ClusterWaits> waits_; // by trips left
  Program program_;
  RingId ring_;
  std::map<BufferId, std::array<BufferId, 2>> halves_;
  MeetingId all_;
  std::uint32_t group_ = 0;
  CursorId cursor_;
  std::vector<QueueId> queues_; // of the group, by queue of the work
};

} // namespace

Program programOf(const TurnLoop &loop, const Placement &placement) {
  return TurnWriter(loop, placement)();
}

} // namespace imbrex::schedule
