#pragma once

#include "backend/schedule/plan/ping_pong.h"
#include "tests/support/schedule_builder.h"

#include <array>
#include <string>
#include <vector>

namespace imbrex::testing {

/// The half of a ping-pong product for CDNA 3 and 4, as tests/unit/schedule/block_programs.h has
/// two of: four blocks of a cluster of memory and one of arithmetic. Half of A's rows is one
/// group's, and B both groups'.
inline schedule::TurnLoop pingPongHalf(std::int32_t warps = 8) {
  using namespace schedule;
  ScheduleBuilder build("ping_pong");
  const TripsId k = build.trips("k");
  TurnLoop loop;
  auto all = build.role("group", warps);
  loop.loads = all.queue({.name = "loads", .capacity = 63});
  const QueueId reads = all.queue({.name = "reads", .capacity = 15});
  const auto piece = [&](const std::string &name, std::array<bool, 2> readBy) {
    const BufferId buffer = build.buffer({.name = name, .bytes = 16384, .parts = warps});
    loop.pieces.push_back({.buffer = buffer, .entries = 4, .readBy = readBy});
    loop.issues.push_back({.kind = ScheduleOpKind::Issue,
                           .accesses = {own(write(buffer))},
                           .count = 4,
                           .queue = loop.loads});
    return buffer;
  };
  const BufferId a1 = piece("A1", {false, true}), a0 = piece("A0", {true, false});
  const BufferId b0 = piece("B0", {true, true}), b1 = piece("B1", {true, true});
  all.forTrips(k, [] {});
  loop.work = build.take();
  loop.trips = k;
  loop.readsEndLate = true;
  const auto fragments = [&](const std::vector<BufferId> &of) {
    std::vector<ScheduleOp> ops;
    for (const BufferId buffer : of)
      ops.push_back({.kind = ScheduleOpKind::Issue, .accesses = {read(buffer)}, .queue = reads});
    return ops;
  };
  loop.clusters = {
      fragments({b0, b1, a0, a1}), {}, fragments({b0, b1}), {}, fragments({a0, a1}), {}, {}, {}};
  return loop;
}

} // namespace imbrex::testing
