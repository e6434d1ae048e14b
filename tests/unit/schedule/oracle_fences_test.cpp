#include "tests/unit/schedule/explored.h"

namespace imbrex::testing {

using namespace schedule;

namespace {

/// Where somebody executes a fence between a plain write and a copy out of what it wrote.
enum class Fence : std::uint8_t { Nowhere, Before, Writer, Between, Reader, Behind, Beside };

/// A tile goes from its writer over another role to one that copies it away.
ScheduleBuilder handedOver(Fence where, Space space = Space::Shared) {
  ScheduleBuilder build("handed_over");
  const BufferId tile = build.buffer({.name = "tile", .bytes = 8, .space = space});
  const BarrierId written = build.barrier("written", {}, 1),
                  passed = build.barrier("passed", {}, 1);
  const auto fence = [&](RoleBuilder &role, Fence here) {
    if (where == here) role.fence();
  };
  auto writer = build.role("writer");
  fence(writer, Fence::Before);
  writer.access({write(tile)});
  fence(writer, Fence::Writer);
  writer.arrive(written);
  auto between = build.role("between");
  between.wait(written);
  fence(between, Fence::Between);
  between.arrive(passed);
  auto reader = build.role("reader");
  const QueueId copies = reader.queue({.name = "copies", .async = true});
  reader.wait(passed);
  fence(reader, Fence::Reader);
  reader.issue(copies, {read(tile)});
  fence(reader, Fence::Behind);
  reader.drain(copies);
  auto beside = build.role("beside");
  beside.wait(written);
  fence(beside, Fence::Beside);
  return build;
}

} // namespace

TEST_CASE("the async proxy sees a plain write behind a fence that lies on the way to it") {
  for (const Fence where : {Fence::Writer, Fence::Between, Fence::Reader}) {
    CAPTURE(static_cast<int>(where));
    ScheduleBuilder build = handedOver(where);
    CHECK(explored(build) == kNoFailure);
  }
  for (const Fence where : {Fence::Nowhere, Fence::Before, Fence::Behind, Fence::Beside}) {
    CAPTURE(static_cast<int>(where));
    ScheduleBuilder build = handedOver(where);
    CHECK(explored(build) == Failures{Failure::Unfenced});
  }
}

TEST_CASE("a fence that all wait for is none unless it waits for the write") {
  for (const bool waits : {true, false}) {
    ScheduleBuilder build("own");
    const BufferId tile = build.buffer({.name = "tile", .bytes = 8});
    const BarrierId written = build.barrier("written", {}, 1),
                    fenced = build.barrier("fenced", {}, 1);
    auto role = build.role("role");
    const QueueId copies = role.queue({.name = "copies", .async = true});
    role.access({write(tile)});
    role.arrive(written);
    role.wait(fenced);
    role.issue(copies, {read(tile)});
    role.drain(copies);
    auto other = build.role("other");
    if (waits) other.wait(written);
    other.fence();
    other.arrive(fenced);
    CHECK(explored(build) == (waits ? kNoFailure : Failures{Failure::Unfenced}));
  }
}

TEST_CASE("memory that is not shared has no proxies") {
  ScheduleBuilder build = handedOver(Fence::Nowhere, Space::Tensor);
  CHECK(explored(build) == kNoFailure);
}

TEST_CASE("a fence is for what all have written that it comes behind, not for one writer") {
  for (const bool waits : {true, false}) {
    ScheduleBuilder build("two_writers");
    const BufferId tile = build.buffer({.name = "tile", .bytes = 8, .parts = 2});
    const BarrierId half = build.barrier("half", {}, 1), full = build.barrier("full", {}, 2);
    auto first = build.role("first");
    first.access({part(0, write(tile))});
    first.arrive(half);
    first.arrive(full);
    auto second = build.role("second");
    second.access({part(1, write(tile))});
    if (waits) second.wait(half);
    second.fence();
    second.arrive(full);
    auto reader = build.role("reader");
    const QueueId copies = reader.queue({.name = "copies", .async = true});
    reader.wait(full);
    reader.issue(copies, {read(tile)});
    reader.drain(copies);
    CHECK(explored(build) == (waits ? kNoFailure : Failures{Failure::Unfenced}));
  }
}

TEST_CASE("what a copy overwrites must be visible to it as well, what was read need not") {
  for (const bool writes : {true, false})
    for (const bool fences : {true, false}) {
      Pair pair(2);
      auto role = pair.build.role("role");
      const QueueId copies = role.queue({.name = "copies", .async = true});
      role.access({write(pair.x)});
      role.fence();
      if (writes) role.access({write(pair.x)});
      role.access({read(pair.x)});
      if (fences) role.fence();
      role.issue(copies, {write(pair.x)});
      role.drain(copies);
      role.access({read(pair.x)});
      CHECK(explored(pair.build) == (writes && !fences ? Failures{Failure::Unfenced} : kNoFailure));
    }
}

TEST_CASE("what a plain queue writes is written when it has ended: a fence before that is early") {
  for (const bool early : {true, false}) {
    Pair pair;
    auto role = pair.build.role("role");
    const QueueId stores = role.queue({.name = "stores"});
    const QueueId copies = role.queue({.name = "copies", .async = true});
    role.issue(stores, {write(pair.x)});
    if (early) role.fence();
    role.drain(stores);
    if (!early) role.fence();
    role.issue(copies, {read(pair.x)});
    role.drain(copies);
    CHECK(explored(pair.build) == (early ? Failures{Failure::Unfenced} : kNoFailure));
  }
}

TEST_CASE("copies and queues of the async proxy see that a barrier was made behind a fence alone") {
  for (const bool fences : {true, false})
    for (const bool async : {true, false})
      for (const bool copies : {true, false}) {
        Pair pair;
        auto role = pair.build.role("role");
        const QueueId queue = role.queue({.name = "queue", .async = async});
        role.init(pair.full);
        if (fences) role.fence();
        if (copies)
          role.copy({write(pair.x)}, pair.full, {}, 8);
        else
          role.signal(queue, pair.full);
        const bool fails = !fences && (copies || async);
        CHECK(explored(pair.build) == (fails ? Failures{Failure::Unfenced} : kNoFailure));
      }
}

} // namespace imbrex::testing
