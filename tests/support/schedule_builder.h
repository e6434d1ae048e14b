#pragma once

#include "backend/schedule/program/program.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

/// Schedules in a few lines:
///
///   ScheduleBuilder build("example");
///   const auto k = build.trips("k");
///   const auto ring = build.ring("AB", 4);
///   const auto tile = build.buffer({.name = "AB", .ring = ring, .bytes = 32768});
///   const auto full = build.barrier("full", ring, 1), empty = build.barrier("empty", ring, 8);
///   auto load = build.role("load");
///   const auto at = load.cursor("p", ring);
///   load.forTrips(k, [&] {
///     load.waitFlipped(empty, at);
///     load.expect(full, at, 32768);
///     load.copy({write(tile, at)}, full, at, 32768);
///     load.advance(at);
///   });
namespace imbrex::testing {

inline schedule::Access read(schedule::BufferId buffer, schedule::Index index = {}) {
  return {.buffer = buffer, .index = index};
}

inline schedule::Access write(schedule::BufferId buffer, schedule::Index index = {}) {
  return {.buffer = buffer, .index = index, .writes = true};
}

/// The agent's own part.
inline schedule::Access own(schedule::Access access) {
  access.part = schedule::Part::Own;
  return access;
}

inline schedule::Access part(std::int32_t number, schedule::Access access) {
  access.part = schedule::Part::Numbered;
  access.number = number;
  return access;
}

/// So many uses further on; before this one where it is negative.
inline schedule::Index further(schedule::Index index, std::int32_t uses) {
  index.offset += uses;
  return index;
}

inline schedule::Guard countOver(schedule::TripsId trips, std::int32_t than) {
  return {schedule::Guard::Measure::Count, trips, than};
}

inline schedule::Guard doneOver(schedule::TripsId trips, std::int32_t than) {
  return {schedule::Guard::Measure::Done, trips, than};
}

inline schedule::Guard leftOver(schedule::TripsId trips, std::int32_t than) {
  return {schedule::Guard::Measure::Left, trips, than};
}

/// `schedule::Queue` before it has a role.
struct QueueTraits {
  std::string name;
  bool serial = false, grouped = false, async = false;
  std::int32_t capacity = 63;
};

using Accesses = std::vector<schedule::Access>;
using Block = std::function<void()>;

/// Appends to a role's body; copies append to the same.
class RoleBuilder {
public:
  RoleBuilder(schedule::Program &program, schedule::RoleId role) : program_(program), role_(role) {}

  schedule::Index cursor(std::string name, schedule::RingId ring);
  schedule::QueueId queue(QueueTraits traits);

  void forTrips(schedule::TripsId trips, const Block &block) { loop(trips, 0, 0, block); }
  void loop(schedule::TripsId trips, std::int32_t first, std::int32_t less, const Block &block);
  void when(schedule::Guard guard, const Block &block);

  void access(Accesses accesses);
  void copy(Accesses accesses, schedule::BarrierId barrier, schedule::Index at, std::int64_t bytes);
  void issue(schedule::QueueId queue, Accesses accesses, std::int32_t count = 1);

  void wait(schedule::BarrierId barrier, schedule::Index at = {});
  void waitFlipped(schedule::BarrierId barrier, schedule::Index at = {});
  void arrive(schedule::BarrierId barrier, schedule::Index at = {}, std::int32_t count = 1);
  void expect(schedule::BarrierId barrier, schedule::Index at, std::int64_t bytes,
              std::int32_t count = 1);
  void signal(schedule::QueueId queue, schedule::BarrierId barrier, schedule::Index at = {});
  void commit(schedule::QueueId queue);
  void drain(schedule::QueueId queue, std::int32_t count = 0);
  void meet(schedule::MeetingId meeting);
  void fence();
  void init(schedule::BarrierId barrier);
  void advance(schedule::Index cursor);
  void reset(schedule::Index cursor);

private:
  void append(schedule::ScheduleOp op);
  std::vector<schedule::ScheduleOp> body(const Block &block);

  schedule::Program &program_;
  schedule::RoleId role_;
  std::vector<schedule::ScheduleOp> *open_ = nullptr; ///< The innermost loop's or condition's body.
};

class ScheduleBuilder {
public:
  explicit ScheduleBuilder(std::string name) { program_.name = std::move(name); }

  schedule::TripsId trips(std::string name, schedule::TripsId within = {}, std::int32_t least = 0);
  schedule::RingId ring(std::string name, std::int32_t depth);
  schedule::BufferId buffer(schedule::Buffer buffer);
  schedule::BarrierId barrier(std::string name, schedule::RingId ring, std::int32_t arrivals);
  schedule::MeetingId meeting(std::string name, std::int32_t parties, std::int32_t number = 0);
  RoleBuilder role(std::string name, std::int32_t warps = 1, std::int32_t registers = 0);

  /// The builders of its roles are not to be used any more.
  schedule::Program take() { return std::move(program_); }

private:
  schedule::Program program_;
};

} // namespace imbrex::testing
