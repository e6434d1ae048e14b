#pragma once

#include "backend/schedule/program/channels.h"
#include "backend/schedule/program/program.h"
#include "tests/support/schedule_builder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

/// Sequential work to be scheduled.
namespace imbrex::testing {

/// A product with bias, tile after tile, as one sequence; with a tensor core's own memory and queue
/// or without.
inline schedule::Program gemmWork(bool tensor) {
  using namespace schedule;
  ScheduleBuilder build("gemm");
  const TripsId tiles = build.trips("tiles");
  const TripsId k = build.trips("k", tiles);
  const BufferId a = build.buffer({.name = "A", .bytes = 16384});
  const BufferId b = build.buffer({.name = "B", .bytes = 16384});
  const BufferId bias = build.buffer({.name = "bias", .bytes = 4096});
  const BufferId sum = build.buffer(
      {.name = "sum", .bytes = 65536, .space = tensor ? Space::Tensor : Space::Registers});
  auto all = build.role("all");
  const QueueId products =
      all.queue({.name = "products", .serial = true, .grouped = !tensor, .async = true});
  all.forTrips(tiles, [&] {
    if (!tensor) all.access({write(sum)});
    all.forTrips(k, [&] {
      all.copy({write(a)}, {}, {}, 16384);
      all.copy({write(b)}, {}, {}, 16384);
      all.issue(products, {read(a), read(b), write(sum)});
      if (!tensor) all.commit(products);
    });
    all.copy({write(bias)}, {}, {}, 4096);
    all.access({read(sum), read(bias)});
  });
  Program work = build.take();
  if (tensor) work.trips[k.index()].least = 1;
  forEachOp(work.roles.front().body, [](ScheduleOp &op) {
    if (op.kind == ScheduleOpKind::Copy)
      op.cost = {"memory", 700, static_cast<std::int32_t>(op.bytes / 256)};
    if (op.kind == ScheduleOpKind::Issue) op.cost = {"products", 128, 128};
    if (op.kind == ScheduleOpKind::Access && op.accesses.size() > 1)
      op.cost = {"arithmetic", 600, 600};
  });
  return work;
}

/// Warps load parts for each other by a queue, read all of them by another and compute.
inline schedule::Program streamWork(bool grouped, std::int32_t warps) {
  using namespace schedule;
  ScheduleBuilder build("stream");
  const TripsId k = build.trips("k");
  const BufferId tile = build.buffer({.name = "tile", .bytes = 16384, .parts = warps});
  const BufferId fragment =
      build.buffer({.name = "fragment", .bytes = 256, .space = Space::Registers});
  const BufferId sum = build.buffer({.name = "sum", .bytes = 256, .space = Space::Registers});
  auto all = build.role("all", warps);
  const QueueId loads = all.queue({.name = "loads", .grouped = grouped});
  const QueueId reads = all.queue({.name = "reads", .capacity = 15});
  all.access({write(sum)});
  all.forTrips(k, [&] {
    all.issue(loads, {own(write(tile))}, grouped ? 1 : 2);
    if (grouped) all.commit(loads);
    all.issue(reads, {read(tile), write(fragment)});
    all.access({read(fragment), read(sum), write(sum)});
  });
  all.access({read(sum)});
  Program work = build.take();
  forEachOp(work.roles.front().body, [&](ScheduleOp &op) {
    if (op.kind == ScheduleOpKind::Issue)
      op.cost = op.queue == loads ? Cost{"memory", 700, 64} : Cost{"shared", 30, 16};
    if (op.kind == ScheduleOpKind::Access && op.accesses.size() > 1)
      op.cost = {"arithmetic", 200, 200};
  });
  return work;
}

/// Attention forward, tile after tile: a block of keys and of values in each step.
inline schedule::Program attentionWork() {
  using namespace schedule;
  ScheduleBuilder build("attention");
  const TripsId tiles = build.trips("tiles");
  const TripsId n = build.trips("n", tiles);
  const BufferId q = build.buffer({.name = "Q", .bytes = 16384});
  const BufferId k = build.buffer({.name = "K", .bytes = 16384});
  const BufferId v = build.buffer({.name = "V", .bytes = 16384});
  const BufferId scores =
      build.buffer({.name = "scores", .bytes = 32768, .space = Space::Registers});
  const BufferId sum = build.buffer({.name = "sum", .bytes = 32768, .space = Space::Registers});
  auto all = build.role("all");
  const QueueId products =
      all.queue({.name = "products", .serial = true, .grouped = true, .async = true});
  all.forTrips(tiles, [&] {
    all.copy({write(q)}, {}, {}, 16384);
    all.access({write(sum)});
    all.forTrips(n, [&] {
      all.copy({write(k)}, {}, {}, 16384);
      all.issue(products, {read(q), read(k), write(scores)});
      all.commit(products);
      all.access({read(scores), write(scores)});
      all.copy({write(v)}, {}, {}, 16384);
      all.issue(products, {read(scores), read(v), write(sum)});
      all.commit(products);
    });
    all.access({read(sum)});
  });
  Program work = build.take();
  forEachOp(work.roles.front().body, [](ScheduleOp &op) {
    if (op.kind == ScheduleOpKind::Copy) op.cost = {"memory", 700, 64};
    if (op.kind == ScheduleOpKind::Issue) op.cost = {"products", 128, 128};
    if (op.kind == ScheduleOpKind::Access && op.accesses.size() > 1)
      op.cost = {"arithmetic", 200, 200};
  });
  return work;
}

inline std::int32_t arrivalsOf(const schedule::Program &program, std::string_view barrier) {
  const auto found = std::ranges::find(program.barriers, barrier, &schedule::Barrier::name);
  REQUIRE(found != program.barriers.end());
  return found->arrivals;
}

/// The bytes that are expected in a phase of a barrier.
inline std::int64_t bytesOf(const schedule::Program &program, std::string_view barrier) {
  std::int64_t bytes = 0;
  for (const schedule::Role &role : program.roles)
    schedule::forEachOp(role.body, [&](const schedule::ScheduleOp &op) {
      if (op.kind == schedule::ScheduleOpKind::Expect && program[op.barrier].name == barrier)
        bytes = op.bytes;
    });
  return bytes;
}

/// Whoever fills a slot waits for the phase before, which is over at the start, and who reads it
/// for the phase itself: first parities 1 and 0, of each ring.
inline void checkFirstParities(const schedule::Program &program) {
  std::set<std::string_view> awaited;
  for (const schedule::Role &role : program.roles)
    schedule::forEachOp(role.body, [&](const schedule::ScheduleOp &op) {
      if (op.kind != schedule::ScheduleOpKind::Wait) return;
      const std::string_view name = program[op.barrier].name;
      if (name.ends_with(".empty")) CHECK(op.flipped);
      if (name.ends_with(".full")) CHECK_FALSE(op.flipped);
      awaited.insert(name);
    });
  for (const schedule::Barrier &barrier : program.barriers) CHECK(awaited.contains(barrier.name));
}

} // namespace imbrex::testing
