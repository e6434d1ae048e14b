#include "backend/schedule/drains.h"

#include "backend/schedule/channels.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace imbrex::schedule {

namespace {

constexpr std::int32_t kOpen = -1; ///< The age of what is in a group that is not closed.
constexpr std::int32_t kEnded = std::numeric_limits<std::int32_t>::max();

/// An operation that is not over for every warp: the youngest of its kind and use.
struct Pending {
  const Op *op;
  std::vector<std::int32_t> advances; ///< By cursor: since it was issued.
  const Op *within = nullptr;         ///< The outermost condition around it.
  std::int32_t age = kEnded;          ///< Entries of its queue issued since.
  const Op *meeting = nullptr;        ///< Before this the warps have met since it was issued.
  std::int32_t ageThere = kEnded;
};

/// Operations by their place in the role's body, so that nothing depends on where in memory they
/// lie.
using OpNumber = std::size_t;

/// By operation and use; the younger of two that are alike stands for both.
using Key = std::pair<OpNumber, std::vector<std::int32_t>>;

/// What a role knows at one point of its body.
struct Point {
  std::map<Key, Pending> pending;
  /// By cursor: how far it is ahead of its ring's first; nothing where paths differ.
  std::vector<std::optional<std::int64_t>> ahead;

  friend bool operator==(const Point &a, const Point &b) {
    const auto same = [](const auto &x, const auto &y) {
      return x.first == y.first && x.second.age == y.second.age &&
             x.second.meeting == y.second.meeting && x.second.ageThere == y.second.ageThere;
    };
    return a.ahead == b.ahead && std::ranges::equal(a.pending, b.pending, same);
  }
};

void join(Point &into, const Point &from) {
  for (const auto &[key, other] : from.pending) {
    const auto [at, isNew] = into.pending.try_emplace(key, other);
    if (isNew) continue;
    Pending &mine = at->second;
    mine.age = std::min(mine.age, other.age);
    mine.ageThere = std::min(mine.ageThere, other.ageThere);
    if (mine.meeting != other.meeting) mine.meeting = nullptr;
  }
  for (std::size_t c = 0; c < into.ahead.size(); ++c)
    if (into.ahead[c] != from.ahead[c]) into.ahead[c].reset();
}

/// What is to stand before an operation.
struct Before {
  std::map<QueueId, std::int32_t> drains;
  bool meets = false;
};

using Decisions = std::map<OpNumber, Before>;
using OpNumbers = std::unordered_map<const Op *, OpNumber>;

OpNumbers numbersOf(const Role &role) {
  OpNumbers numbers;
  forEachOp(role.body, [&](const Op &op) { numbers.emplace(&op, numbers.size()); });
  return numbers;
}

/// Meetings, then drains, then how much is drained.
std::tuple<std::int64_t, std::int64_t, std::int64_t> costOf(const Decisions &decisions) {
  std::int64_t meetings = 0, drains = 0, left = 0;
  for (const auto &[op, before] : decisions) {
    meetings += before.meets;
    drains += static_cast<std::int64_t>(before.drains.size());
    for (const auto &[queue, count] : before.drains) left += count;
  }
  return {meetings, drains, -left};
}

class RoleDrains {
public:
  RoleDrains(const Program &program, RoleId role, const OpNumbers &numbers)
      : program_(program), role_(role), numbers_(numbers), largest_(program.trips.size(), 1),
        counts_(program.trips.size()), lefts_(program.trips.size()), tails_(program.trips.size()),
        isWritten_(program.buffers.size()) {
    forEachOp(program_[role_].body, [&](const Op &op) {
      if (op.kind == OpKind::For) raise(op.trips, op.first + op.less + 1);
      if (op.kind == OpKind::If && op.guard.measure != Guard::Measure::Done)
        raise(op.guard.trips, op.guard.than + 1);
      if (op.kind == OpKind::If && op.guard.measure == Guard::Measure::Left) {
        std::int32_t &tail = tails_[op.guard.trips.index()];
        tail = std::max(tail, op.guard.than);
      }
      for (const Access &access : op.accesses)
        if (access.writes && op.kind != OpKind::Copy) isWritten_[access.buffer.index()] = true;
    });
  }

  /// What is decided first, for an operation early in a loop, may be spared by what is decided for
  /// one behind it; so each decision is then tried to be left out.
  Decisions operator()() {
    settle();
    bool improved = true;
    while (std::exchange(improved, false)) {
      const Decisions settled = before_;
      for (const auto &[op, before] : settled) {
        improved |= improvesWithout(op, std::nullopt);
        for (const auto &[queue, count] : before.drains) improved |= improvesWithout(op, queue);
      }
    }
    return std::move(before_);
  }

private:
  void raise(TripsId trips, std::int32_t count) {
    std::int32_t &largest = largest_[trips.index()];
    largest = std::max({largest, count, program_[trips].least});
  }

  /// Decides until nothing is added: a drain decided for one operation spares others.
  void settle() {
    do {
      changed_ = false;
      Point point;
      point.ahead.assign(program_.cursors.size(), 0);
      walkScope(program_[role_].body, TripsId(), point);
    } while (changed_);
  }

  /// Decides anew after forgetting a drain, or the meeting, before an operation, and keeps that if
  /// it is better.
  bool improvesWithout(OpNumber op, std::optional<QueueId> queue) {
    Decisions old = before_;
    const auto found = before_.find(op);
    if (found == before_.end()) return false;
    if (queue)
      found->second.drains.erase(*queue);
    else
      found->second.meets = false;
    settle();
    if (costOf(before_) < costOf(old)) return true;
    before_ = std::move(old);
    return false;
  }

  /// A body in which some trips have one number throughout: for each number that its guards and
  /// loops tell apart on its own, so that paths which no number takes are not counted.
  void walkScope(const std::vector<Op> &body, TripsId scope, Point &point, std::uint32_t from = 0) {
    while (from < program_.trips.size() && program_.trips[from].within != scope) ++from;
    if (from == program_.trips.size()) return walk(body, point);
    const Point before = point;
    const std::int32_t largest = largest_[from];
    for (std::int32_t count = program_.trips[from].least; count <= largest; ++count) {
      Point taken = before;
      counts_[from] = count;
      walkScope(body, scope, taken, from + 1);
      if (count == program_.trips[from].least)
        point = std::move(taken);
      else
        join(point, taken);
    }
  }

  void walk(const std::vector<Op> &body, Point &point) {
    for (const Op &op : body) {
      if (op.kind == OpKind::For) {
        loop(op, point);
      } else if (op.kind == OpKind::If) {
        branch(op, point);
      } else {
        pass(op, point);
      }
    }
  }

  /// The largest number stands for all from there on.
  bool isMoreThan(TripsId trips, std::int32_t than) const { return counts_[trips.index()] > than; }

  /// Whether a condition holds, where that is known.
  std::optional<bool> holds(const Guard &guard) const {
    switch (guard.measure) {
    case Guard::Measure::Count: return isMoreThan(guard.trips, guard.than);
    case Guard::Measure::Left: return lefts_[guard.trips.index()] > guard.than;
    case Guard::Measure::Done: break;
    }
    return std::nullopt;
  }

  void branch(const Op &op, Point &point) {
    const Op *outer = std::exchange(hoistTo_, hoistTo_ ? hoistTo_ : &op);
    apply(op, point);
    const std::optional<bool> known = holds(op.guard);
    if (known && *known) {
      walk(op.body, point);
    } else if (!known) {
      Point taken = point;
      walk(op.body, taken);
      join(point, taken);
    }
    hoistTo_ = outer;
  }

  /// As many trips as are counted. Where that stands for all larger numbers, too, the last ones, in
  /// which conditions on the trips left do not hold, come behind any number of others.
  void loop(const Op &op, Point &point) {
    const std::int32_t count = counts_[op.trips.index()];
    std::int32_t left = count - op.first;
    if (left <= op.less) return;
    const Op *outer = std::exchange(hoistTo_, nullptr);
    const auto trip = [&](Point &at) {
      lefts_[op.trips.index()] = left;
      walkScope(op.body, op.trips, at);
    };
    const bool isLeast = count == largest_[op.trips.index()];
    const std::int32_t tail = std::max(tails_[op.trips.index()], op.less);
    for (; left > tail; --left) trip(point);
    if (isLeast) left = largest_[op.trips.index()], anyTrips(trip, point), left = tail;
    for (; left > op.less; --left) trip(point);
    hoistTo_ = outer;
  }

  /// None, or more, until nothing changes.
  template <class Trip>
  static void anyTrips(const Trip &trip, Point &point) {
    for (;;) {
      Point next = point;
      trip(next);
      join(next, point);
      if (next == point) return;
      point = std::move(next);
    }
  }

  void pass(const Op &op, Point &point) {
    apply(op, point);
    if (mayConflict(op))
      for (const auto &[key, pending] : point.pending) require(op, pending, point);
    if (op.kind == OpKind::Advance) advance(op, point);
    if (op.kind == OpKind::Drain) retire(op.queue, op.count, point);
    if (op.kind == OpKind::Commit) age(op.queue, 1, point);
    if (op.kind == OpKind::Issue && !program_[op.queue].grouped) age(op.queue, op.count, point);
    if (op.kind == OpKind::Issue)
      add(op, program_[op.queue].grouped ? kOpen : 0, point);
    else if (op.kind == OpKind::Access && program_[role_].warps > 1)
      add(op, kEnded, point);
  }

  /// What was decided before an operation takes effect.
  void apply(const Op &op, Point &point) {
    const auto found = before_.find(numbers_.at(&op));
    if (found == before_.end()) return;
    for (const auto &[queue, count] : found->second.drains) retire(queue, count, point);
    if (!found->second.meets) return;
    std::erase_if(point.pending, [](const auto &entry) { return entry.second.age == kEnded; });
    for (auto &[key, pending] : point.pending) {
      pending.meeting = &op;
      pending.ageThere = pending.age;
    }
  }

  void retire(QueueId queue, std::int32_t count, Point &point) {
    for (auto &[key, pending] : point.pending)
      if (pending.op->queue == queue && pending.age >= count) pending.age = kEnded;
  }

  void age(QueueId queue, std::int32_t entries, Point &point) {
    for (auto &[key, pending] : point.pending)
      if (pending.op->queue == queue && pending.age != kEnded)
        pending.age = pending.age == kOpen ? entries - 1 : pending.age + entries;
  }

  /// What the role only reads, or only copies write, conflicts with nothing of its own.
  bool mayConflict(const Op &op) const {
    return std::ranges::any_of(op.accesses, [&](const Access &access) {
      for (std::uint32_t other = 0; other < isWritten_.size(); ++other)
        if (isWritten_[other] && (BufferId(other) == access.buffer ||
                                  mayOverlap(program_, access.buffer, BufferId(other))))
          return true;
      return false;
    });
  }

  void add(const Op &op, std::int32_t age, Point &point) {
    if (!mayConflict(op)) return;
    const Key key = {numbers_.at(&op), std::vector<std::int32_t>(program_.cursors.size())};
    point.pending[key] = {.op = &op, .advances = key.second, .within = hoistTo_, .age = age};
  }

  /// Uses that are further back than all slots are alike.
  void advance(const Op &op, Point &point) {
    const std::int32_t most = 2 * program_.depthOf(program_[op.cursor].ring) + 2;
    std::map<Key, Pending> moved;
    for (auto &[key, pending] : point.pending) {
      Pending next = pending;
      std::int32_t &since = next.advances[op.cursor.index()];
      if (indexes(*next.op, op.cursor)) since = std::min(since + 1, most);
      const Key as = {key.first, next.advances};
      const auto [at, isNew] = moved.try_emplace(as, next);
      if (!isNew && next.age < at->second.age) at->second = next;
    }
    point.pending = std::move(moved);
    shift(op.cursor, point);
  }

  static bool indexes(const Op &op, CursorId cursor) {
    return std::ranges::any_of(op.accesses,
                               [&](const Access &access) { return access.index.cursor == cursor; });
  }

  /// The first of a ring's cursors is what the others are measured by.
  void shift(CursorId moved, Point &point) {
    const auto sharesRing = [&](std::uint32_t c) {
      return program_.cursors[c].role == role_ && program_.cursors[c].ring == program_[moved].ring;
    };
    std::uint32_t first = 0;
    while (!sharesRing(first)) ++first;
    for (std::uint32_t c = first + 1; c < point.ahead.size(); ++c)
      if (sharesRing(c) && point.ahead[c])
        *point.ahead[c] += moved == CursorId(first) ? -1 : (moved == CursorId(c) ? 1 : 0);
  }

  /// An operation that may touch what a pending one still does.
  void require(const Op &op, const Pending &pending, const Point &point) {
    const Queue *queue = pending.op->kind == OpKind::Issue ? &program_[pending.op->queue] : nullptr;
    const bool inOrder =
        queue && queue->serial && op.kind == OpKind::Issue && op.queue == pending.op->queue;
    for (const Access &mine : op.accesses)
      for (const Access &other : pending.op->accesses) {
        if (!mine.writes && !other.writes) continue;
        if (!mayMeet(mine, other, pending, point)) continue;
        const bool isOwn = program_[mine.buffer].space == Space::Registers ||
                           program_[role_].warps == 1 ||
                           (mine.part == Part::Own && other.part == Part::Own);
        if (!isOwn)
          meetBefore(op, pending);
        else if (!inOrder && pending.age != kEnded)
          drainBefore(op, pending.op->queue, pending.age);
      }
  }

  bool mayMeet(const Access &mine, const Access &other, const Pending &pending,
               const Point &point) const {
    if (mine.buffer != other.buffer) return mayOverlap(program_, mine.buffer, other.buffer);
    if (mine.part == Part::Numbered && other.part == Part::Numbered && mine.number != other.number)
      return false;
    const RingId ring = program_[mine.buffer].ring;
    if (!ring.valid()) return true;
    const auto now = point.ahead[mine.index.cursor.index()];
    const auto then = point.ahead[other.index.cursor.index()];
    if (!now || !then) return true;
    const std::int64_t uses = *now + mine.index.offset - *then - other.index.offset +
                              pending.advances[other.index.cursor.index()];
    return uses % program_.depthOf(ring) == 0;
  }

  /// The meeting that there is serves, if the operation is over for its own warp by then. A new one
  /// comes before all conditions around the operation, to serve whether they hold or not, if what
  /// it is for is not within them itself.
  void meetBefore(const Op &op, const Pending &pending) {
    const bool hoists = hoistTo_ && pending.within != hoistTo_;
    const Op &place = pending.meeting ? *pending.meeting : (hoists ? *hoistTo_ : op);
    const std::int32_t age = pending.meeting ? pending.ageThere : pending.age;
    if (age != kEnded) drainBefore(place, pending.op->queue, age);
    changed_ |= !std::exchange(before_[numbers_.at(&place)].meets, true);
  }

  void drainBefore(const Op &op, QueueId queue, std::int32_t age) {
    const std::int32_t count = std::clamp(age, 0, program_[queue].capacity);
    const auto [at, isNew] = before_[numbers_.at(&op)].drains.try_emplace(queue, count);
    changed_ |= isNew || count < at->second;
    at->second = std::min(at->second, count);
  }

  const Program &program_;
  RoleId role_;
  const OpNumbers &numbers_;
  std::vector<std::int32_t> largest_; // by trips: this many stand for all that are more
  std::vector<std::int32_t> counts_;  // by trips: the number that is looked at
  std::vector<std::int32_t> lefts_;   // by trips: how many are left in the loop that is walked
  std::vector<std::int32_t> tails_;   // by trips: the most that a condition asks to be left
  std::vector<bool> isWritten_;       // by buffer: by the role, and not by copies
  const Op *hoistTo_ = nullptr;       // the outermost condition of the body that is walked
  Decisions before_;
  bool changed_ = false;
};

/// Of the machine's meetings, one that no other uses.
std::int32_t freeNumber(const Program &program) {
  std::int32_t number = 0;
  const auto uses = [&](const Meeting &meeting) { return meeting.number == number; };
  while (std::ranges::any_of(program.meetings, uses)) ++number;
  return number;
}

/// The operations again, with what was decided before each.
std::vector<Op> rewritten(const std::vector<Op> &body, const OpNumbers &numbers,
                          const Decisions &before, MeetingId meeting) {
  std::vector<Op> out;
  for (const Op &op : body) {
    if (const auto found = before.find(numbers.at(&op)); found != before.end()) {
      for (const auto &[queue, count] : found->second.drains)
        out.push_back({.kind = OpKind::Drain, .count = count, .queue = queue, .where = op.where});
      if (found->second.meets)
        out.push_back({.kind = OpKind::Meet, .meeting = meeting, .where = op.where});
    }
    out.push_back(op);
    out.back().body = rewritten(op.body, numbers, before, meeting);
  }
  return out;
}

} // namespace

Program addDrains(Program program) {
  const Program given = program;
  for (std::uint32_t r = 0; r < program.roles.size(); ++r) {
    const OpNumbers numbers = numbersOf(given.roles[r]);
    const Decisions before = RoleDrains(given, RoleId(r), numbers)();
    const bool meets = std::ranges::any_of(before, [](const auto &at) { return at.second.meets; });
    const MeetingId meeting(static_cast<std::uint32_t>(program.meetings.size()));
    if (meets)
      program.meetings.push_back({.name = given.roles[r].name,
                                  .parties = given.roles[r].warps,
                                  .number = freeNumber(program)});
    program.roles[r].body = rewritten(given.roles[r].body, numbers, before, meeting);
  }
  return program;
}

} // namespace imbrex::schedule
