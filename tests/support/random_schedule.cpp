#include "tests/support/random_schedule.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace imbrex::testing {
namespace {

using namespace schedule;

class Generator {
public:
  Generator(std::uint32_t seed, const RandomScheduleOptions &options)
      : options_(options), rng_(seed) {}

  Program run() {
    program_.name = oneOf({"random", "gemm.1", "a b", ""});
    makeTrips();
    for (std::int32_t i = number(1, options_.rings); i > 0; --i) makeRing();
    makeContents(RingId());
    for (std::int32_t i = number(1, 3); i > 0; --i)
      program_.meetings.push_back(
          {.name = fresh("all"), .parties = number(1, 16), .number = number(0, 3)});
    for (std::int32_t i = number(1, options_.roles); i > 0; --i) makeRole();
    return std::move(program_);
  }

private:
  // --- dice ---

  std::int32_t number(std::int32_t low, std::int32_t high) {
    return low + static_cast<std::int32_t>(rng_() % static_cast<std::uint32_t>(high - low + 1));
  }
  bool chance(std::int32_t percent) { return number(1, 100) <= percent; }

  template <class T>
  T oneOf(std::initializer_list<T> choices) {
    return choices.begin()[number(0, static_cast<std::int32_t>(choices.size()) - 1)];
  }

  /// Any of the ids that `wanted` takes; none where there is none.
  template <class Tag, class T, class Wanted>
  Id<Tag> any(const std::vector<T> &all, Wanted &&wanted) {
    std::vector<Id<Tag>> found;
    for (std::uint32_t i = 0; i < all.size(); ++i)
      if (wanted(all[i], Id<Tag>(i))) found.push_back(Id<Tag>(i));
    if (found.empty()) return {};
    return found[static_cast<std::size_t>(number(0, static_cast<std::int32_t>(found.size()) - 1))];
  }

  template <class Tag, class T>
  Id<Tag> any(const std::vector<T> &all) {
    return any<Tag>(all, [](const T &, Id<Tag>) { return true; });
  }

  std::string fresh(std::string_view stem) { return std::string(stem) + std::to_string(names_++); }

  // --- declarations ---

  void makeTrips() {
    for (std::int32_t i = number(1, 4); i > 0; --i) {
      const TripsId within = chance(40) ? any<TripsTag>(program_.trips) : TripsId();
      program_.trips.push_back(
          {.name = fresh("k"), .within = within, .least = oneOf({0, 0, 1, 4})});
    }
  }

  void makeRing() {
    const RingId ring(static_cast<std::uint32_t>(program_.rings.size()));
    program_.rings.push_back({.name = fresh("ring"), .depth = number(1, 5)});
    makeContents(ring);
  }

  /// At least one buffer and one barrier.
  void makeContents(RingId ring) {
    for (std::int32_t i = number(1, 3); i > 0; --i) makeBuffer(ring);
    for (std::int32_t i = number(1, 3); i > 0; --i)
      program_.barriers.push_back({.name = fresh("full"), .ring = ring, .arrivals = number(1, 9)});
  }

  void makeBuffer(RingId ring) {
    Buffer buffer{.name = fresh("A"), .ring = ring};
    buffer.parts = oneOf({1, 1, 2, 4, 8});
    buffer.bytes = 16 * buffer.parts * number(1, 64);
    buffer.space = oneOf({Space::Shared, Space::Shared, Space::Tensor, Space::Registers});
    if (chance(25)) buffer.offset = 128 * number(0, 8); // over one another, as it happens
    program_.buffers.push_back(std::move(buffer));
  }

  void makeRole() {
    role_ = RoleId(static_cast<std::uint32_t>(program_.roles.size()));
    program_.roles.push_back({.name = fresh("role"),
                              .warps = oneOf({1, 1, 2, 4, 8}),
                              .registers = oneOf({0, 0, 24, 240})});
    for (std::uint32_t i = 0; i < program_.rings.size(); ++i)
      if (chance(80))
        program_.cursors.push_back({.name = fresh("c"), .role = role_, .ring = RingId(i)});
    for (std::int32_t i = number(0, 2); i > 0; --i) makeQueue();
    std::vector<ScheduleOp> body = makeBody(0);
    program_.roles.back().body = std::move(body);
  }

  void makeQueue() {
    program_.queues.push_back({.name = fresh("q"),
                               .role = role_,
                               .serial = chance(50),
                               .grouped = chance(50),
                               .async = chance(50),
                               .capacity = oneOf({63, 7, 0})});
  }

  // --- operations ---

  std::vector<ScheduleOp> makeBody(std::int32_t depth) {
    std::vector<ScheduleOp> body;
    for (std::int32_t i = number(0, options_.size); i > 0; --i) {
      const auto kind = static_cast<ScheduleOpKind>(number(0, std::ssize(kOps) - 1));
      const bool hasBody = kind == ScheduleOpKind::For || kind == ScheduleOpKind::If;
      if (hasBody && depth == options_.nesting) continue;
      ScheduleOp op{.kind = kind};
      if (!fill(op)) continue;
      if (hasBody) op.body = makeBodyOf(op, depth);
      if (chance(25)) op.cost = makeCost();
      body.push_back(std::move(op));
    }
    return body;
  }

  std::vector<ScheduleOp> makeBodyOf(const ScheduleOp &op, std::int32_t depth) {
    if (op.kind == ScheduleOpKind::If) return makeBody(depth + 1);
    loops_.push_back(op.trips);
    std::vector<ScheduleOp> body = makeBody(depth + 1);
    loops_.pop_back();
    return body;
  }

  Cost makeCost() {
    const std::int32_t cycles = number(0, 99);
    if (chance(30)) return {.cycles = cycles};
    return {.resource = oneOf({"tensor", "odd name"}), .cycles = cycles, .busy = number(0, cycles)};
  }

  /// What the kind needs; false where the program has none of it.
  bool fill(ScheduleOp &op) {
    const auto has = [&](Fields field) { return (info(op.kind).fields & field) != 0; };
    return (!has(kAccesses) || fillAccesses(op)) && (!has(kBarrier) || fillBarrier(op)) &&
           (!has(kQueue) || fillQueue(op)) && (!has(kMeeting) || fillMeeting(op)) &&
           (!has(kCursor) || fillCursor(op)) && (!has(kLoop) || fillLoop(op)) &&
           (!has(kGuard) || fillGuard(op)) && fillNumbers(op);
  }

  /// The index that a thing of this ring needs; false where the role has no cursor there.
  bool fillIndex(RingId ring, Index &index) {
    if (!ring.valid()) return true;
    index.cursor = any<CursorTag>(program_.cursors, [&](const Cursor &cursor, CursorId) {
      return cursor.role == role_ && cursor.ring == ring;
    });
    if (chance(20)) index.offset = oneOf({-2, -1, 1, 3});
    return index.cursor.valid();
  }

  bool fillAccesses(ScheduleOp &op) {
    for (std::int32_t i = number(0, 4); i > 0; --i) {
      Access access{.buffer = any<BufferTag>(program_.buffers), .writes = chance(50)};
      const Buffer &buffer = program_[access.buffer];
      if (!fillIndex(buffer.ring, access.index)) continue;
      if (chance(25)) {
        access.part = Part::Numbered;
        access.number = number(0, buffer.parts - 1);
      } else if (chance(25) && program_[role_].warps <= buffer.parts) {
        access.part = Part::Own;
      }
      op.accesses.push_back(access);
    }
    return true;
  }

  bool fillBarrier(ScheduleOp &op) {
    op.barrier = any<BarrierTag>(program_.barriers);
    return op.kind == ScheduleOpKind::Init || fillIndex(program_[op.barrier].ring, op.index);
  }

  bool fillQueue(ScheduleOp &op) {
    op.queue = any<QueueTag>(program_.queues, [&](const Queue &queue, QueueId) {
      return queue.role == role_ && (op.kind != ScheduleOpKind::Commit || queue.grouped);
    });
    return op.queue.valid();
  }

  bool fillMeeting(ScheduleOp &op) {
    op.meeting = any<MeetingTag>(program_.meetings);
    return true;
  }

  bool fillCursor(ScheduleOp &op) {
    op.cursor = any<CursorTag>(
        program_.cursors, [&](const Cursor &cursor, CursorId) { return cursor.role == role_; });
    return op.cursor.valid();
  }

  bool isInLoopOver(TripsId trips) const {
    return std::ranges::find(loops_, trips) != loops_.end();
  }

  bool isKnown(const Trips &trips) const {
    return !trips.within.valid() || isInLoopOver(trips.within);
  }

  bool fillLoop(ScheduleOp &op) {
    op.trips = any<TripsTag>(program_.trips, [&](const Trips &trips, TripsId id) {
      return isKnown(trips) && !isInLoopOver(id);
    });
    op.first = oneOf({0, 0, 1, 2});
    op.less = oneOf({0, 0, 1, 3});
    return op.trips.valid();
  }

  bool fillGuard(ScheduleOp &op) {
    op.guard.measure = oneOf({Guard::Measure::Count, Guard::Measure::Done, Guard::Measure::Left});
    op.guard.than = number(-1, 4);
    const bool ofAll = op.guard.measure == Guard::Measure::Count;
    op.guard.trips = any<TripsTag>(program_.trips, [&](const Trips &trips, TripsId id) {
      return ofAll ? isKnown(trips) : isInLoopOver(id);
    });
    return op.guard.trips.valid();
  }

  bool fillNumbers(ScheduleOp &op) {
    if (op.kind == ScheduleOpKind::Wait) op.flipped = chance(40);
    if (op.kind == ScheduleOpKind::Drain)
      op.count = number(0, std::min(3, program_[op.queue].capacity));
    else if (op.kind == ScheduleOpKind::Expect)
      op.count = number(0, 2);
    else if ((info(op.kind).fields & kCount) != 0 && !isGroupedIssue(op))
      op.count = oneOf({1, 1, 2, 5});
    if ((info(op.kind).fields & kBytes) != 0) op.bytes = 16 * number(1, 4096);
    return true;
  }

  /// Its entries are closed by `commit`, and so it has no count.
  bool isGroupedIssue(const ScheduleOp &op) const {
    return op.kind == ScheduleOpKind::Issue && program_[op.queue].grouped;
  }

  const RandomScheduleOptions &options_;
  std::mt19937 rng_;
  Program program_;
  RoleId role_;                ///< The one that is written.
  std::vector<TripsId> loops_; ///< Those around what is written.
  std::int32_t names_ = 0;
};

} // namespace

Program randomSchedule(std::uint32_t seed, const RandomScheduleOptions &options) {
  return Generator(seed, options).run();
}

} // namespace imbrex::testing
