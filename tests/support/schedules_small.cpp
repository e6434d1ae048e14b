#include "tests/support/schedule_builder.h"
#include "tests/support/schedules.h"

namespace imbrex::testing {

using namespace schedule;

namespace {

constexpr std::int64_t kBytes = 1024;

bool broken(Version version) { return version == Version::Broken; }

Program madeBarriers(bool meets, bool fences) {
  ScheduleBuilder build("made_barriers");
  const BufferId tile = build.buffer({.name = "tile", .bytes = kBytes});
  const BarrierId full = build.barrier("full", {}, 1);
  const MeetingId all = build.meeting("all", 2);
  auto load = build.role("load");
  load.init(full);
  if (fences) load.fence();
  if (meets) load.meet(all);
  load.expect(full, {}, kBytes);
  load.copy({write(tile)}, full, {}, kBytes);
  auto compute = build.role("compute");
  if (meets) compute.meet(all);
  compute.wait(full);
  compute.access({read(tile)});
  return build.take();
}

} // namespace

Program sharedOperand(Version version) {
  ScheduleBuilder build("shared_operand");
  const TripsId k = build.trips("k");
  const RingId ring = build.ring("operand", 1);
  const BufferId tile = build.buffer({.name = "tile", .ring = ring, .bytes = kBytes, .parts = 2});
  const MeetingId all = build.meeting("all", 2);
  auto role = build.role("group", 2);
  const Index at = role.cursor("u", ring);
  role.forTrips(k, [&] {
    role.access({own(write(tile, at))});
    role.meet(all);
    role.access({read(tile, at)});
    if (!broken(version)) role.meet(all);
    role.advance(at);
  });
  return build.take();
}

Program explicitBarrier(Version version) {
  ScheduleBuilder build("explicit_barrier");
  const TripsId k = build.trips("k");
  const RingId ring = build.ring("value", 1);
  const BufferId value = build.buffer({.name = "value", .ring = ring, .bytes = kBytes});
  const BarrierId full = build.barrier("full", ring, 1), empty = build.barrier("empty", ring, 1);
  auto producer = build.role("write");
  const Index p = producer.cursor("p", ring);
  producer.forTrips(k, [&] {
    producer.waitFlipped(empty, p);
    producer.access({write(value, p)});
    producer.arrive(full, p);
    producer.advance(p);
  });
  auto consumer = build.role("read");
  const Index c = consumer.cursor("c", ring), waited = consumer.cursor("waited", ring);
  consumer.forTrips(k, [&] {
    consumer.wait(full, waited);
    consumer.access({read(value, c)});
    consumer.arrive(empty, c);
    consumer.advance(c);
    // In a ring of three slots, the parity would stay for three steps.
    if (broken(version))
      consumer.when(doneOver(k, 1), [&] { consumer.advance(waited); });
    else
      consumer.advance(waited);
  });
  return build.take();
}

Program descriptor(Version version) {
  ScheduleBuilder build("descriptor");
  const TripsId tiles = build.trips("tiles");
  const RingId ring = build.ring("descriptor", 1);
  const BufferId descriptor = build.buffer({.name = "descriptor", .ring = ring, .bytes = 128});
  auto role = build.role("store");
  const Index at = role.cursor("u", ring);
  const QueueId stores = role.queue({.name = "stores", .grouped = true, .async = true});
  role.forTrips(tiles, [&] {
    role.access({write(descriptor, at)});
    role.fence();
    role.issue(stores, {read(descriptor, at)});
    role.commit(stores);
    if (!broken(version)) role.drain(stores);
    role.advance(at);
  });
  return build.take();
}

Program address(Version version) {
  ScheduleBuilder build("address");
  const TripsId k = build.trips("k");
  const RingId ring = build.ring("steps", 1);
  const BufferId address = build.buffer({.name = "address", .bytes = 4});
  const BarrierId full = build.barrier("full", ring, 1), empty = build.barrier("empty", ring, 1);
  const BarrierId known = build.barrier("known", {}, 1);
  auto multiply = build.role("multiply");
  const Index p = multiply.cursor("p", ring);
  multiply.access({write(address)});
  if (!broken(version)) multiply.arrive(known);
  multiply.forTrips(k, [&] {
    multiply.waitFlipped(empty, p);
    multiply.arrive(full, p);
    multiply.advance(p);
  });
  auto finish = build.role("finish");
  const Index c = finish.cursor("c", ring);
  finish.forTrips(k, [&] {
    finish.wait(full, c);
    finish.arrive(empty, c);
    finish.advance(c);
  });
  if (!broken(version)) finish.wait(known);
  finish.access({read(address)});
  return build.take();
}

Program mailbox(Version version) {
  ScheduleBuilder build("mailbox");
  const TripsId tiles = build.trips("tiles");
  const RingId ring = build.ring("next", 1);
  const BufferId next = build.buffer({.name = "next", .ring = ring, .bytes = 16});
  const BarrierId full = build.barrier("full", ring, 1);
  const BarrierId empty = build.barrier("empty", ring, broken(version) ? 1 : 2);
  auto scheduler = build.role("scheduler");
  const Index p = scheduler.cursor("p", ring);
  scheduler.forTrips(tiles, [&] {
    scheduler.waitFlipped(empty, p);
    scheduler.expect(full, p, 16);
    scheduler.copy({write(next, p)}, full, p, 16);
    scheduler.advance(p);
  });
  const auto reader = [&](const char *name, bool answers) {
    auto role = build.role(name);
    const Index c = role.cursor("c", ring);
    role.forTrips(tiles, [&] {
      role.wait(full, c);
      role.access({read(next, c)});
      if (answers) role.arrive(empty, c);
      role.advance(c);
    });
  };
  reader("load", true);
  reader("finish", !broken(version));
  return build.take();
}

/// The arrival that ends the phase is another's than the role's that expects the bytes.
Program loneExpect(Version version) {
  ScheduleBuilder build("lone_expect");
  const BufferId tile = build.buffer({.name = "tile", .bytes = kBytes});
  const BarrierId full = build.barrier("full", {}, 1), begun = build.barrier("begun", {}, 1);
  auto load = build.role("load");
  load.expect(full, {}, kBytes, /*count=*/0);
  load.copy({write(tile)}, full, {}, kBytes);
  if (!broken(version)) load.arrive(begun);
  auto compute = build.role("compute");
  if (!broken(version)) compute.wait(begun);
  compute.arrive(full);
  compute.wait(full);
  compute.access({read(tile)});
  return build.take();
}

Program fencedStore(Version version) {
  ScheduleBuilder build("fenced_store");
  const BufferId tile = build.buffer({.name = "tile", .bytes = kBytes});
  const BarrierId full = build.barrier("full", {}, 1);
  auto writes = build.role("write");
  writes.access({write(tile)});
  if (!broken(version)) writes.fence();
  writes.arrive(full);
  auto multiply = build.role("multiply");
  const QueueId products = multiply.queue({.name = "products", .serial = true, .async = true});
  multiply.wait(full);
  multiply.issue(products, {read(tile)});
  multiply.drain(products);
  return build.take();
}

Program tensorStore(Version version) {
  ScheduleBuilder build("tensor_store");
  const BufferId tile = build.buffer({.name = "tile", .bytes = kBytes, .space = Space::Tensor});
  const BarrierId full = build.barrier("full", {}, 1);
  auto softmax = build.role("softmax");
  const QueueId stores = softmax.queue({.name = "stores"});
  softmax.issue(stores, {write(tile)});
  if (!broken(version)) softmax.drain(stores);
  softmax.arrive(full);
  auto multiply = build.role("multiply");
  const QueueId products = multiply.queue({.name = "products", .serial = true, .async = true});
  multiply.wait(full);
  multiply.issue(products, {read(tile)});
  multiply.drain(products);
  return build.take();
}

Program madeBarriers(Version version) { return madeBarriers(!broken(version), true); }

Program fencedBarriers(Version version) { return madeBarriers(true, !broken(version)); }

Program bulkStore(Version version) {
  ScheduleBuilder build("bulk_store");
  const TripsId tiles = build.trips("tiles");
  const RingId ring = build.ring("result", 1);
  const BufferId result =
      build.buffer({.name = "result", .ring = ring, .bytes = kBytes, .parts = 2});
  const MeetingId all = build.meeting("all", 2);
  const auto writer = [&](const char *name, std::int32_t number, bool stores) {
    auto role = build.role(name);
    const Index at = role.cursor("u", ring);
    const QueueId queue = role.queue({.name = "stores", .grouped = true, .async = true});
    role.forTrips(tiles, [&] {
      role.access({part(number, write(result, at))});
      if (!broken(version)) role.fence();
      role.meet(all);
      if (stores) {
        role.issue(queue, {read(result, at)});
        role.commit(queue);
        role.drain(queue);
      }
      role.meet(all);
      role.advance(at);
    });
  };
  writer("storing", 0, true);
  writer("other", 1, false);
  return build.take();
}

Program twoMeetings(Version version) {
  ScheduleBuilder build("two_meetings");
  const MeetingId pair = build.meeting("pair", 2, 1);
  const MeetingId three = build.meeting("three", 3, broken(version) ? 1 : 2);
  build.role("pair", 2).meet(pair);
  build.role("three", 3).meet(three);
  return build.take();
}

Program epilogueMeeting(Version version) {
  ScheduleBuilder build("epilogue_meeting");
  const RingId ring = build.ring("AB", 1);
  const BufferId tile = build.buffer({.name = "tile", .ring = ring, .bytes = kBytes});
  const BarrierId full = build.barrier("full", ring, 1);
  const MeetingId all = build.meeting("all", broken(version) ? 3 : 2);
  auto load = build.role("load");
  const Index p = load.cursor("p", ring);
  load.expect(full, p, kBytes);
  load.copy({write(tile, p)}, full, p, kBytes);
  auto compute = build.role("compute", 2);
  const Index c = compute.cursor("c", ring);
  compute.wait(full, c);
  compute.access({read(tile, c)});
  compute.meet(all);
  return build.take();
}

} // namespace imbrex::testing
