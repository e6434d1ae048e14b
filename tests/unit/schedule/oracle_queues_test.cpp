#include "tests/unit/schedule/explored.h"

namespace imbrex::testing {

using namespace schedule;

TEST_CASE("a drain ends all operations but the newest ones") {
  for (const std::int32_t left : {0, 1, 2}) {
    ScheduleBuilder build("drain");
    const BufferId x = build.buffer({.name = "x", .bytes = 8});
    auto role = build.role("role");
    const QueueId queue = role.queue({.name = "queue"});
    role.issue(queue, {write(x)});
    role.issue(queue, {});
    role.drain(queue, left);
    role.access({read(x)});
    CHECK(explored(build).contains(Failure::Race) == (left == 2));
  }
}

TEST_CASE("an operation that is not the oldest may be in flight as well") {
  for (const std::int32_t left : {0, 1}) {
    ScheduleBuilder build("second");
    const BufferId x = build.buffer({.name = "x", .bytes = 8});
    auto role = build.role("role");
    const QueueId queue = role.queue({.name = "queue"});
    role.issue(queue, {});
    role.issue(queue, {write(x)});
    role.drain(queue, left);
    role.access({read(x)});
    CHECK(explored(build).contains(Failure::Race) == (left == 1));
  }
}

TEST_CASE("an operation of two entries counts as two behind others") {
  for (const std::int32_t left : {2, 3}) {
    ScheduleBuilder build("entries");
    const BufferId x = build.buffer({.name = "x", .bytes = 8});
    auto role = build.role("role");
    const QueueId queue = role.queue({.name = "queue"});
    role.issue(queue, {write(x)});
    role.issue(queue, {}, 2);
    role.drain(queue, left);
    role.access({read(x)});
    CHECK(explored(build).contains(Failure::Race) == (left == 3));
  }
}

TEST_CASE("an operation of two entries has ended when both have") {
  for (const std::int32_t left : {0, 1}) {
    ScheduleBuilder build("entries");
    const BufferId x = build.buffer({.name = "x", .bytes = 8});
    auto role = build.role("role");
    const QueueId queue = role.queue({.name = "queue"});
    role.issue(queue, {write(x)}, 2);
    role.drain(queue, left);
    role.access({read(x)});
    CHECK(explored(build).contains(Failure::Race) == (left == 1));
  }
}

TEST_CASE("a drain does not cover a group that is not closed") {
  for (const bool closed : {true, false}) {
    ScheduleBuilder build("groups");
    const BufferId x = build.buffer({.name = "x", .bytes = 8});
    auto role = build.role("role");
    const QueueId queue = role.queue({.name = "queue", .grouped = true});
    role.issue(queue, {write(x)});
    if (closed) role.commit(queue);
    role.drain(queue);
    role.access({read(x)});
    CHECK(explored(build).contains(Failure::Race) == !closed);
  }
}

TEST_CASE("a group is one entry, also an empty one") {
  for (const std::int32_t left : {1, 2}) {
    ScheduleBuilder build("groups");
    const BufferId x = build.buffer({.name = "x", .bytes = 8});
    auto role = build.role("role");
    const QueueId queue = role.queue({.name = "queue", .grouped = true});
    role.issue(queue, {part(0, write(x))});
    role.issue(queue, {});
    role.commit(queue);
    role.commit(queue);
    role.drain(queue, left);
    role.access({read(x)});
    CHECK(explored(build).contains(Failure::Race) == (left == 2));
  }
}

TEST_CASE("operations of a serial queue follow each other, others overlap") {
  for (const bool serial : {true, false}) {
    ScheduleBuilder build("serial");
    const BufferId x = build.buffer({.name = "x", .bytes = 8});
    auto role = build.role("role");
    const QueueId queue = role.queue({.name = "queue", .serial = serial});
    role.issue(queue, {write(x)});
    role.issue(queue, {read(x)});
    role.drain(queue);
    CHECK(explored(build) == (serial ? kNoFailure : Failures{Failure::Race}));
  }
}

TEST_CASE("an operation of a serial queue may begin before anybody waits for the one before") {
  ScheduleBuilder build("begins");
  const BufferId x = build.buffer({.name = "x", .bytes = 8});
  auto role = build.role("role");
  const QueueId queue = role.queue({.name = "queue", .serial = true});
  role.access({write(x)});
  role.issue(queue, {});
  role.issue(queue, {read(x)});
  role.access({write(x)}); // of the same content, so that a race alone is to be seen
  CHECK(explored(build) == Failures{Failure::Race});
}

TEST_CASE("an operation that nobody waits for reads as well") {
  for (const bool serial : {true, false}) {
    ScheduleBuilder build("unasked");
    const BufferId x = build.buffer({.name = "x", .bytes = 8});
    auto role = build.role("role");
    const QueueId queue = role.queue({.name = "queue", .serial = serial});
    role.issue(queue, {});
    role.issue(queue, {read(x)});
    CHECK(explored(build) == Failures{Failure::Value});
  }
}

TEST_CASE("a signal arrives when what was in the queue has ended, an arrival does not wait") {
  for (const bool signals : {true, false}) {
    Pair pair;
    auto writer = pair.build.role("writer");
    const QueueId queue = writer.queue({.name = "queue"});
    writer.issue(queue, {write(pair.x)});
    if (signals)
      writer.signal(queue, pair.full);
    else
      writer.arrive(pair.full);
    auto reader = pair.build.role("reader");
    reader.wait(pair.full);
    reader.access({read(pair.x)});
    CHECK(explored(pair.build) == (signals ? kNoFailure : Failures{Failure::Race}));
  }
}

TEST_CASE("a signal does not speak for what is issued behind it") {
  Pair pair;
  auto writer = pair.build.role("writer");
  const QueueId queue = writer.queue({.name = "queue"});
  writer.signal(queue, pair.full);
  writer.issue(queue, {write(pair.x)});
  auto reader = pair.build.role("reader");
  reader.wait(pair.full);
  reader.access({read(pair.x)});
  CHECK(explored(pair.build) == Failures{Failure::Race, Failure::Value});
}

TEST_CASE("a signal speaks for a group that is not closed") {
  Pair pair;
  auto writer = pair.build.role("writer");
  const QueueId queue = writer.queue({.name = "queue", .grouped = true});
  writer.issue(queue, {write(pair.x)});
  writer.signal(queue, pair.full);
  auto reader = pair.build.role("reader");
  reader.wait(pair.full);
  reader.access({read(pair.x)});
  CHECK(explored(pair.build).empty());
}

TEST_CASE("a signal that has not come does not hold up a drain") {
  Pair pair(1);
  auto role = pair.build.role("role");
  const QueueId queue = role.queue({.name = "queue"});
  role.issue(queue, {write(pair.x)});
  role.signal(queue, pair.full);
  role.drain(queue);
  role.access({read(pair.x)});
  role.waitFlipped(pair.full); // passes only as long as the signal has not come
  CHECK(explored(pair.build) == Failures{Failure::Deadlock});
}

} // namespace imbrex::testing
