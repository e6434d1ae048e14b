#include "backend/schedule/plan/drains.h"

#include "backend/schedule/plan/pending.h"
#include "backend/schedule/program/channels.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace imbrex::schedule {

namespace {

/// What is to stand before an operation.
struct WaitsBefore {
  std::map<QueueId, std::int32_t> drains;
  bool meets = false;
};

using Decisions = std::map<OpNumber, WaitsBefore>;
using OpNumbers = llvm::DenseMap<const ScheduleOp *, OpNumber>;

OpNumbers numbersOf(const Role &role) {
  OpNumbers numbers;
  forEachOp(role.body, [&](const ScheduleOp &op) { numbers.try_emplace(&op, numbers.size()); });
  return numbers;
}

/// By trips: this many stand for all that are more, to a role's conditions and loops.
std::vector<std::int32_t> largestNumbers(const Program &program, const Role &role) {
  std::vector<std::int32_t> largest(program.trips.size(), 1);
  const auto raise = [&](TripsId trips, std::int64_t count) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    std::int32_t &most = largest[trips.index()];
    most =
        std::max({most, static_cast<std::int32_t>(std::min(count, kMost)), program[trips].least});
  };
  forEachOp(role.body, [&](const ScheduleOp &op) {
    if (op.kind == ScheduleOpKind::For) raise(op.trips, std::int64_t{op.first} + op.less + 1);
    if (op.kind == ScheduleOpKind::If && op.guard.measure != Guard::Measure::Done)
      raise(op.guard.trips, std::int64_t{op.guard.than} + 1);
  });
  return largest;
}

/// Meetings, then drains, then how much is drained. To decide more never makes it less.
using Price = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

Price costOf(const Decisions &decisions) {
  std::int64_t meetings = 0, drains = 0, left = 0;
  for (const auto &[op, before] : decisions) {
    meetings += before.meets;
    drains += static_cast<std::int64_t>(before.drains.size());
    for (const auto &[queue, count] : before.drains) left += count;
  }
  return {meetings, drains, -left};
}

/// Whether an operation may conflict with others of its role, the cursors of what it does so in,
/// and the first operation that does the same.
struct OpConflicts {
  bool any = false;
  llvm::SmallVector<CursorId, 2> cursors = {};
  OpNumber like = 0;
};

class RoleDrains {
public:
  RoleDrains(const Program &program, RoleId role, const OpNumbers &numbers)
      : program_(program), role_(role), numbers_(numbers),
        largest_(largestNumbers(program, program[role])), counts_(program.trips.size()),
        lefts_(program.trips.size()), tails_(program.trips.size()),
        isWritten_(program.buffers.size()) {
    forEachOp(program_[role_].body, [&](const ScheduleOp &op) {
      if (op.kind == ScheduleOpKind::If && op.guard.measure == Guard::Measure::Left) {
        std::int32_t &tail = tails_[op.guard.trips.index()];
        tail = std::max(tail, op.guard.than);
      }
      for (const Access &access : op.accesses)
        if (access.writes && op.kind != ScheduleOpKind::Copy)
          isWritten_[access.buffer.index()] = true;
    });
    studyConflicts();
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
  /// Decides until nothing is added: a drain decided for one operation spares others.
  void settle() {
    do {
      changed_ = false;
      PendingOps point(program_, role_);
      walkScope(program_[role_].body, TripsId(), point);
    } while (changed_ && !gaveUp_);
  }

  /// Decides anew after forgetting a drain, or the meeting, before an operation, and keeps that if
  /// it is better. Mostly the same is decided again before the body is walked once: that is enough
  /// to give up.
  bool improvesWithout(OpNumber op, std::optional<QueueId> queue) {
    Decisions old = before_;
    const auto found = before_.find(op);
    if (found == before_.end()) return false;
    if (queue)
      found->second.drains.erase(*queue);
    else
      found->second.meets = false;
    limit_ = costOf(old);
    settle();
    limit_.reset();
    if (!std::exchange(gaveUp_, false) && costOf(before_) < costOf(old)) return true;
    before_ = std::move(old);
    return false;
  }

  /// A body in which some trips have one number throughout: for each number that its guards and
  /// loops tell apart on its own, so that paths which no number takes are not counted.
  void walkScope(const std::vector<ScheduleOp> &body, TripsId scope, PendingOps &point,
                 std::uint32_t from = 0) {
    while (from < program_.trips.size() && program_.trips[from].within != scope) ++from;
    if (from == program_.trips.size()) return walk(body, point);
    const PendingOps before = point;
    const std::int32_t largest = largest_[from];
    for (std::int32_t count = program_.trips[from].least; count <= largest && !gaveUp_; ++count) {
      PendingOps taken = before;
      counts_[from] = count;
      walkScope(body, scope, taken, from + 1);
      if (count == program_.trips[from].least)
        point = std::move(taken);
      else
        point.join(taken);
    }
  }

  void walk(const std::vector<ScheduleOp> &body, PendingOps &point) {
    for (const ScheduleOp &op : body) {
      if (gaveUp_) return;
      if (op.kind == ScheduleOpKind::For) {
        loop(op, point);
      } else if (op.kind == ScheduleOpKind::If) {
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

  void branch(const ScheduleOp &op, PendingOps &point) {
    const bool isOutermost = !hoistTo_;
    if (isOutermost) hoistTo_ = &op, ++conditions_;
    apply(op, point);
    const std::optional<bool> known = holds(op.guard);
    if (known && *known) {
      walk(op.body, point);
    } else if (!known) {
      PendingOps taken = point;
      walk(op.body, taken);
      point.join(taken);
    }
    if (isOutermost) hoistTo_ = nullptr, point.leave(--conditions_);
  }

  /// As many trips as are counted. Where that stands for all larger numbers, too, the last ones, in
  /// which conditions on the trips left do not hold, come behind any number of others.
  void loop(const ScheduleOp &op, PendingOps &point) {
    const std::int32_t count = counts_[op.trips.index()];
    std::int32_t left = count - op.first;
    if (left <= op.less) return;
    const ScheduleOp *outer = std::exchange(hoistTo_, nullptr);
    const auto trip = [&](PendingOps &at) {
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
  void anyTrips(const Trip &trip, PendingOps &point) const {
    for (;;) {
      PendingOps next = point;
      trip(next);
      next.join(point);
      if (next == point || gaveUp_) return;
      point = std::move(next);
    }
  }

  void pass(const ScheduleOp &op, PendingOps &point) {
    const OpNumber number = apply(op, point);
    const OpConflicts &conflicts = conflicts_[number];
    if (conflicts.any)
      for (const PendingOp &pending : point.pending()) require(op, pending, point);
    if (op.kind == ScheduleOpKind::Advance) point.advance(program_, op.cursor);
    if (op.kind == ScheduleOpKind::Drain) point.retire(op.queue, op.count);
    if (op.kind == ScheduleOpKind::Commit) point.age(op.queue, 1);
    if (op.kind == ScheduleOpKind::Issue && !program_[op.queue].grouped)
      point.age(op.queue, op.count);
    if (!conflicts.any) return;
    PendingOp issued{
        .number = conflicts.like, .op = &op, .follows = conflicts.cursors, .within = conditions_};
    if (op.kind == ScheduleOpKind::Issue) issued.age = program_[op.queue].grouped ? kOpen : 0;
    if (op.kind == ScheduleOpKind::Issue ||
        (op.kind == ScheduleOpKind::Access && program_[role_].warps > 1))
      point.add(std::move(issued));
  }

  /// What was decided before an operation takes effect. Returns its number.
  OpNumber apply(const ScheduleOp &op, PendingOps &point) const {
    const OpNumber number = numbers_.at(&op);
    const auto found = before_.find(number);
    if (found == before_.end()) return number;
    for (const auto &[queue, count] : found->second.drains) point.retire(queue, count);
    if (found->second.meets) point.meet(op);
    return number;
  }

  /// What the role only reads, or only copies write, conflicts with nothing of its own.
  void studyConflicts() {
    const std::size_t buffers = program_.buffers.size();
    overlaps_.resize(buffers * buffers);
    std::vector<bool> conflicts(buffers);
    for (std::uint32_t a = 0; a < buffers; ++a)
      for (std::uint32_t b = 0; b < buffers; ++b) {
        const bool overlaps = a != b && mayOverlap(program_, BufferId(a), BufferId(b));
        overlaps_[a * buffers + b] = overlaps;
        if (isWritten_[b] && (a == b || overlaps)) conflicts[a] = true;
      }
    std::vector<const ScheduleOp *> ops;
    forEachOp(program_[role_].body, [&](const ScheduleOp &op) {
      ops.push_back(&op);
      const auto same =
          llvm::find_if(ops, [&](const ScheduleOp *other) { return doSame(op, *other); });
      OpConflicts &of = conflicts_.emplace_back();
      of.like = static_cast<OpNumber>(same - ops.begin());
      for (const Access &access : op.accesses) {
        if (!conflicts[access.buffer.index()]) continue;
        of.any = true;
        const CursorId cursor = access.index.cursor;
        if (cursor.valid() && !llvm::is_contained(of.cursors, cursor)) of.cursors.push_back(cursor);
      }
    });
  }

  static bool doSame(const ScheduleOp &a, const ScheduleOp &b) {
    return a.kind == b.kind && a.queue == b.queue && a.accesses == b.accesses;
  }

  /// An operation that may touch what a pending one still does.
  void require(const ScheduleOp &op, const PendingOp &pending, const PendingOps &point) {
    const Queue *queue =
        pending.op->kind == ScheduleOpKind::Issue ? &program_[pending.op->queue] : nullptr;
    const bool inOrder =
        queue && queue->serial && op.kind == ScheduleOpKind::Issue && op.queue == pending.op->queue;
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

  bool mayMeet(const Access &mine, const Access &other, const PendingOp &pending,
               const PendingOps &point) const {
    if (mine.buffer != other.buffer)
      return overlaps_[mine.buffer.index() * program_.buffers.size() + other.buffer.index()];
    if (mine.part == Part::Numbered && other.part == Part::Numbered && mine.number != other.number)
      return false;
    const RingId ring = program_[mine.buffer].ring;
    if (!ring.valid()) return true;
    const auto now = point.ahead(mine.index.cursor);
    const auto then = point.ahead(other.index.cursor);
    if (!now || !then) return true;
    const std::int64_t uses = *now + mine.index.offset - *then - other.index.offset +
                              pending.advances[point.placeOf(other.index.cursor)];
    return uses % program_.depthOf(ring) == 0;
  }

  /// The meeting that there is serves, if the operation is over for its own warp by then. A new one
  /// comes before all conditions around the operation, to serve whether they hold or not, if what
  /// it is for is not within them itself.
  void meetBefore(const ScheduleOp &op, const PendingOp &pending) {
    const bool hoists = hoistTo_ && pending.within < conditions_;
    const ScheduleOp &place = pending.meeting ? *pending.meeting : (hoists ? *hoistTo_ : op);
    const std::int32_t age = pending.meeting ? pending.ageThere : pending.age;
    if (age != kEnded) drainBefore(place, pending.op->queue, age);
    const bool isNew = !std::exchange(before_[numbers_.at(&place)].meets, true);
    if (isNew) noteChange();
  }

  void drainBefore(const ScheduleOp &op, QueueId queue, std::int32_t age) {
    const std::int32_t count = std::clamp(age, 0, program_[queue].capacity);
    const auto [at, isNew] = before_[numbers_.at(&op)].drains.try_emplace(queue, count);
    if (!isNew && count >= at->second) return;
    at->second = count;
    noteChange();
  }

  void noteChange() {
    changed_ = true;
    gaveUp_ |= limit_ && costOf(before_) >= *limit_;
  }

  const Program &program_;
  RoleId role_;
  const OpNumbers &numbers_;
  std::vector<std::int32_t> largest_;   // by trips: this many stand for all that are more
  std::vector<std::int32_t> counts_;    // by trips: the number that is looked at
  std::vector<std::int32_t> lefts_;     // by trips: how many are left in the loop that is walked
  std::vector<std::int32_t> tails_;     // by trips: the most that a condition asks to be left
  std::vector<bool> isWritten_;         // by buffer: by the role, and not by copies
  std::vector<bool> overlaps_;          // by buffer and buffer
  std::vector<OpConflicts> conflicts_;  // by operation
  const ScheduleOp *hoistTo_ = nullptr; // the outermost condition of the body that is walked
  std::int32_t conditions_ = 0;         // of these, that of bodies around it included
  Decisions before_;
  bool changed_ = false;
  std::optional<Price> limit_; // what the decisions must stay below
  bool gaveUp_ = false;        // for they do not
};

/// Of the machine's meetings, one that no other uses.
std::int32_t freeNumber(const Program &program) {
  std::int32_t number = 0;
  const auto uses = [&](const Meeting &meeting) { return meeting.number == number; };
  while (std::ranges::any_of(program.meetings, uses)) ++number;
  return number;
}

/// The operations again, with what was decided before each.
std::vector<ScheduleOp> rewritten(const std::vector<ScheduleOp> &body, const OpNumbers &numbers,
                                  const Decisions &before, MeetingId meeting) {
  std::vector<ScheduleOp> out;
  for (const ScheduleOp &op : body) {
    if (const auto found = before.find(numbers.at(&op)); found != before.end()) {
      for (const auto &[queue, count] : found->second.drains)
        out.push_back(
            {.kind = ScheduleOpKind::Drain, .count = count, .queue = queue, .where = op.where});
      if (found->second.meets)
        out.push_back({.kind = ScheduleOpKind::Meet, .meeting = meeting, .where = op.where});
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

std::int64_t tripsToWalk(const Program &program) {
  double most = 0;
  for (const Role &role : program.roles) {
    const std::vector<std::int32_t> largest = largestNumbers(program, role);
    for (std::uint32_t t = 0; t < program.trips.size(); ++t) {
      double walked = 1; // of numbers each of which is walked, in the trips of those around
      for (TripsId trips(t); trips.valid(); trips = program[trips].within) {
        const double last = largest[trips.index()], first = program[trips].least;
        walked *= (first + last) * (last - first + 1) / 2;
      }
      most = std::max(most, walked);
    }
  }
  return static_cast<std::int64_t>(std::min(most, 1e18));
}

} // namespace imbrex::schedule
