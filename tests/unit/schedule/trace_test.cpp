#include "tests/support/schedule_builder.h"
#include "tests/support/schedule_trace.h"

#include <doctest/doctest.h>

#include <functional>
#include <vector>

namespace imbrex::testing {

using namespace schedule;

namespace {

/// The trace of one role in a ring of depth 2: which slots of a barrier it arrives at.
std::vector<std::uint32_t> slots(const std::function<void(RoleBuilder &, Index, TripsId)> &body,
                                 std::int64_t trips) {
  ScheduleBuilder build("slots");
  const RingId ring = build.ring("ring", 2);
  const BarrierId barrier = build.barrier("barrier", ring, 1);
  const TripsId k = build.trips("k");
  auto role = build.role("role");
  const Index at = role.cursor("at", ring);
  CHECK(barrier == BarrierId(0));
  body(role, at, k);
  const Traces traces = trace(build.take(), [trips](TripsId, std::int64_t) { return trips; });
  std::vector<std::uint32_t> found;
  for (const Step &step : traces.agents.at(0)) found.push_back(step.barrier);
  return found;
}

using Slots = std::vector<std::uint32_t>;

} // namespace

TEST_CASE("a cursor runs on through a loop, which leaves out first and last trips") {
  const auto body = [](RoleBuilder &role, Index at, TripsId k) {
    role.loop(k, 1, 1, [&] {
      role.arrive(BarrierId(0), at);
      role.advance(at);
    });
    role.arrive(BarrierId(0), at);
    role.reset(at);
    role.arrive(BarrierId(0), further(at, -1));
  };
  CHECK(slots(body, 5) == Slots{0, 1, 0, 1, 1});
  CHECK(slots(body, 2) == Slots{0, 1});
}

TEST_CASE("conditions ask for all trips, those done and those left") {
  const auto body = [](Guard::Measure measure) {
    return [measure](RoleBuilder &role, Index at, TripsId k) {
      role.forTrips(k, [&] {
        role.when({measure, k, 1}, [&] { role.arrive(BarrierId(0), at); });
        role.advance(at);
      });
    };
  };
  CHECK(slots(body(Guard::Measure::Count), 3) == Slots{0, 1, 0});
  CHECK(slots(body(Guard::Measure::Count), 1) == Slots{});
  CHECK(slots(body(Guard::Measure::Done), 4) == Slots{0, 1});
  CHECK(slots(body(Guard::Measure::Left), 4) == Slots{0, 1, 0});
}

TEST_CASE("behind a loop, all trips are left and none is done") {
  const auto body = [](RoleBuilder &role, Index at, TripsId k) {
    role.forTrips(k, [] {});
    role.when(leftOver(k, 2), [&] { role.arrive(BarrierId(0), at); });
    role.when(doneOver(k, 0), [&] { role.arrive(BarrierId(0), further(at, 1)); });
  };
  CHECK(slots(body, 3) == Slots{0});
  CHECK(slots(body, 2) == Slots{});
}

TEST_CASE("trips within others are counted for each trip of those") {
  ScheduleBuilder build("within");
  const BarrierId barrier = build.barrier("barrier", {}, 1);
  const TripsId tiles = build.trips("tiles"), k = build.trips("k", tiles);
  auto role = build.role("role");
  role.forTrips(tiles, [&] {
    role.forTrips(k, [&] { role.arrive(barrier); });
    role.when(countOver(k, 1), [&] { role.wait(barrier); });
  });
  const Traces traces = trace(build.take(), [&](TripsId trips, std::int64_t of) {
    return trips == tiles ? std::int64_t{3} : of;
  });
  std::vector<ScheduleOpKind> kinds;
  for (const Step &step : traces.agents.at(0)) kinds.push_back(step.kind);
  CHECK(kinds == std::vector{ScheduleOpKind::Arrive, ScheduleOpKind::Arrive, ScheduleOpKind::Arrive,
                             ScheduleOpKind::Wait});
}

TEST_CASE("parities go on downwards before use 0") {
  ScheduleBuilder build("parities");
  const RingId ring = build.ring("ring", 2);
  const BarrierId barrier = build.barrier("barrier", ring, 1);
  auto role = build.role("role");
  const Index at = role.cursor("at", ring);
  for (std::int32_t use = -3; use <= 4; ++use) role.wait(barrier, further(at, use));
  const Traces traces = trace(build.take(), [](TripsId, std::int64_t) { return 0; });
  std::vector<bool> odd;
  std::vector<std::uint32_t> places;
  for (const Step &step : traces.agents.at(0)) {
    odd.push_back(step.parity);
    places.push_back(step.barrier);
  }
  CHECK(odd == std::vector<bool>{false, true, true, false, false, true, true, false});
  CHECK(places == std::vector<std::uint32_t>{1, 0, 1, 0, 1, 0, 1, 0});
}

} // namespace imbrex::testing
