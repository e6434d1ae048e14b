#include "backend/schedule/check/used_slots.h"

#include "backend/schedule/program/channels.h"

#include <algorithm>
#include <cstdlib>

namespace imbrex::schedule::check {
namespace {

/// Rings of fewer slots cost nothing.
constexpr std::int32_t kDeepRing = 64;
/// Trips of loops around others that are looked at one by one.
constexpr std::int64_t kMostTrips = 100'000;

/// Counts how often each cursor can be moved on, with every condition taken to hold.
class UseCounter {
public:
  UseCounter(const Program &program, const TripCount &count)
      : program_(program), count_(count), uses_(program.cursors.size()) {}

  std::vector<std::int64_t> operator()() {
    for (const Role &role : program_.roles) walk(role.body, 1, 0);
    return std::move(uses_);
  }

private:
  /// Of a body that runs so often, all its trips alike, in trip `trip` of the loop around.
  void walk(const std::vector<ScheduleOp> &body, std::int64_t times, std::int64_t trip) {
    for (const ScheduleOp &op : body) {
      if (op.kind == ScheduleOpKind::Advance) add(uses_[op.cursor.index()], times);
      if (op.kind == ScheduleOpKind::If) walk(op.body, times, trip);
      if (op.kind == ScheduleOpKind::For) loop(op, times, trip);
    }
  }

  /// Inner loops may run another number of trips in each of these.
  void loop(const ScheduleOp &op, std::int64_t times, std::int64_t trip) {
    const std::int64_t trips = std::max<std::int64_t>(count_(op.trips, trip), 0);
    const bool asks = std::ranges::any_of(
        program_.trips, [&](const Trips &inner) { return inner.within == op.trips; });
    if (!asks) return walk(op.body, product(times, trips), 0);
    looked_ += trips;
    if (looked_ > kMostTrips) return walk(op.body, kMany, 0);
    for (std::int64_t each = 0; each < trips; ++each) walk(op.body, times, each);
  }

  static std::int64_t product(std::int64_t a, std::int64_t b) {
    return b != 0 && a > kMany / b ? kMany : a * b;
  }
  static void add(std::int64_t &to, std::int64_t number) { to = std::min(kMany, to + number); }

  static constexpr std::int64_t kMany = std::int64_t{1} << 40;
  const Program &program_;
  const TripCount &count_;
  std::vector<std::int64_t> uses_;
  std::int64_t looked_ = 0;
};

} // namespace

Program withSlotsFor(const Program &program, const TripCount &count) {
  Program reduced = program;
  const auto isDeep = [](const Ring &ring) { return ring.depth > kDeepRing; };
  if (std::ranges::none_of(program.rings, isDeep)) return reduced;
  const std::vector<std::int64_t> uses = UseCounter(program, count)();
  // How far indices reach from a cursor, to both sides.
  std::int64_t reach = 1;
  for (const Role &role : program.roles)
    forEachOp(role.body, [&](const ScheduleOp &op) {
      const auto look = [&](const Index &index) {
        reach = std::max(reach, std::abs(std::int64_t{index.offset}));
      };
      look(op.index);
      for (const Access &access : op.accesses) look(access.index);
    });
  for (std::size_t r = 0; r < reduced.rings.size(); ++r) {
    Ring &ring = reduced.rings[r];
    const auto isHere = [&](const Buffer &buffer) {
      return buffer.offset && buffer.ring.valid() && buffer.ring.index() == r;
    };
    if (!isDeep(ring) || std::ranges::any_of(program.buffers, isHere)) continue;
    std::int64_t most = 0;
    for (std::size_t c = 0; c < uses.size(); ++c)
      if (program.cursors[c].ring.index() == r) most = std::max(most, uses[c]);
    ring.depth = static_cast<std::int32_t>(std::min<std::int64_t>(
        ring.depth, std::max<std::int64_t>(most + 2 * reach + 1, kDeepRing)));
  }
  return reduced;
}

} // namespace imbrex::schedule::check
