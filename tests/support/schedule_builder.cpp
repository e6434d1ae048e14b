#include "tests/support/schedule_builder.h"

namespace imbrex::testing {

using namespace schedule;

namespace {

template <class Tag, class Item>
Id<Tag> append(std::vector<Item> &list, Item item) {
  list.push_back(std::move(item));
  return Id<Tag>(static_cast<std::uint32_t>(list.size() - 1));
}

} // namespace

Index RoleBuilder::cursor(std::string name, RingId ring) {
  return {.cursor = testing::append<CursorTag>(
              program_.cursors, {.name = std::move(name), .role = role_, .ring = ring})};
}

QueueId RoleBuilder::queue(QueueTraits traits) {
  return testing::append<QueueTag>(program_.queues, {.name = std::move(traits.name),
                                                     .role = role_,
                                                     .serial = traits.serial,
                                                     .grouped = traits.grouped,
                                                     .async = traits.async,
                                                     .capacity = traits.capacity});
}

void RoleBuilder::append(ScheduleOp op) {
  (open_ ? *open_ : program_.roles[role_.index()].body).push_back(std::move(op));
}

std::vector<ScheduleOp> RoleBuilder::body(const Block &block) {
  std::vector<ScheduleOp> ops;
  std::vector<ScheduleOp> *outer = std::exchange(open_, &ops);
  block();
  open_ = outer;
  return ops;
}

void RoleBuilder::loop(TripsId trips, std::int32_t first, std::int32_t less, const Block &block) {
  append({.kind = ScheduleOpKind::For,
          .trips = trips,
          .first = first,
          .less = less,
          .body = body(block)});
}

void RoleBuilder::when(Guard guard, const Block &block) {
  append({.kind = ScheduleOpKind::If, .guard = guard, .body = body(block)});
}

void RoleBuilder::access(Accesses accesses) {
  append({.kind = ScheduleOpKind::Access, .accesses = std::move(accesses)});
}

void RoleBuilder::copy(Accesses accesses, BarrierId barrier, Index at, std::int64_t bytes) {
  append({.kind = ScheduleOpKind::Copy,
          .accesses = std::move(accesses),
          .barrier = barrier,
          .index = at,
          .bytes = bytes});
}

void RoleBuilder::issue(QueueId queue, Accesses accesses, std::int32_t count) {
  append({.kind = ScheduleOpKind::Issue,
          .accesses = std::move(accesses),
          .count = count,
          .queue = queue});
}

void RoleBuilder::wait(BarrierId barrier, Index at) {
  append({.kind = ScheduleOpKind::Wait, .barrier = barrier, .index = at});
}

void RoleBuilder::waitFlipped(BarrierId barrier, Index at) {
  append({.kind = ScheduleOpKind::Wait, .barrier = barrier, .index = at, .flipped = true});
}

void RoleBuilder::arrive(BarrierId barrier, Index at, std::int32_t count) {
  append({.kind = ScheduleOpKind::Arrive, .barrier = barrier, .index = at, .count = count});
}

void RoleBuilder::expect(BarrierId barrier, Index at, std::int64_t bytes, std::int32_t count) {
  append({.kind = ScheduleOpKind::Expect,
          .barrier = barrier,
          .index = at,
          .count = count,
          .bytes = bytes});
}

void RoleBuilder::signal(QueueId queue, BarrierId barrier, Index at) {
  append({.kind = ScheduleOpKind::Signal, .barrier = barrier, .index = at, .queue = queue});
}

void RoleBuilder::commit(QueueId queue) {
  append({.kind = ScheduleOpKind::Commit, .queue = queue});
}

void RoleBuilder::drain(QueueId queue, std::int32_t count) {
  append({.kind = ScheduleOpKind::Drain, .count = count, .queue = queue});
}

void RoleBuilder::meet(MeetingId meeting) {
  append({.kind = ScheduleOpKind::Meet, .meeting = meeting});
}

void RoleBuilder::fence() { append({.kind = ScheduleOpKind::Fence}); }

void RoleBuilder::init(BarrierId barrier) {
  append({.kind = ScheduleOpKind::Init, .barrier = barrier});
}

void RoleBuilder::advance(Index cursor) {
  append({.kind = ScheduleOpKind::Advance, .cursor = cursor.cursor});
}

void RoleBuilder::reset(Index cursor) {
  append({.kind = ScheduleOpKind::Reset, .cursor = cursor.cursor});
}

TripsId ScheduleBuilder::trips(std::string name, TripsId within, std::int32_t least) {
  return append<TripsTag>(program_.trips,
                          {.name = std::move(name), .within = within, .least = least});
}

RingId ScheduleBuilder::ring(std::string name, std::int32_t depth) {
  return append<RingTag>(program_.rings, {.name = std::move(name), .depth = depth});
}

BufferId ScheduleBuilder::buffer(Buffer buffer) {
  return append<BufferTag>(program_.buffers, std::move(buffer));
}

BarrierId ScheduleBuilder::barrier(std::string name, RingId ring, std::int32_t arrivals) {
  return append<BarrierTag>(program_.barriers,
                            {.name = std::move(name), .ring = ring, .arrivals = arrivals});
}

MeetingId ScheduleBuilder::meeting(std::string name, std::int32_t parties, std::int32_t number) {
  return append<MeetingTag>(program_.meetings,
                            {.name = std::move(name), .parties = parties, .number = number});
}

RoleBuilder ScheduleBuilder::role(std::string name, std::int32_t warps, std::int32_t registers) {
  const auto id = append<RoleTag>(
      program_.roles, Role{.name = std::move(name), .warps = warps, .registers = registers});
  return RoleBuilder(program_, id);
}

} // namespace imbrex::testing
