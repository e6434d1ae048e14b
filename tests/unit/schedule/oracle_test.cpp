#include "tests/unit/schedule/explored.h"

#include <functional>
#include <vector>

namespace imbrex::testing {

using namespace schedule;

TEST_CASE("a read that an arrival orders behind the write finds its value") {
  for (const bool waits : {true, false}) {
    Pair pair;
    auto writer = pair.build.role("writer");
    writer.access({write(pair.x)});
    writer.arrive(pair.full);
    auto reader = pair.build.role("reader");
    if (waits) reader.wait(pair.full);
    reader.access({read(pair.x)});
    CHECK(explored(pair.build) == (waits ? kNoFailure : Failures{Failure::Race}));
  }
}

TEST_CASE("a read of what was never written finds the wrong value") {
  Pair pair;
  pair.build.role("reader").access({read(pair.x)});
  CHECK(explored(pair.build) == Failures{Failure::Value});
}

TEST_CASE("a read in the wrong order finds the wrong value") {
  for (const bool newer : {true, false}) {
    ScheduleBuilder build("order");
    const RingId ring = build.ring("ring", 1);
    const BufferId x = build.buffer({.name = "x", .ring = ring, .bytes = 8});
    auto role = build.role("role");
    const Index at = role.cursor("at", ring);
    role.access({write(x, at)});
    role.access({write(x, further(at, 1))});
    role.access({read(x, further(at, newer ? 1 : 0))});
    CHECK(explored(build) == (newer ? kNoFailure : Failures{Failure::Value}));
  }
}

TEST_CASE("two writes at the same time race, to parts of their own they do not") {
  for (const bool parts : {true, false}) {
    Pair pair(1, {.name = "x", .bytes = 8, .parts = 2});
    pair.build.role("writers", 2).access({parts ? own(write(pair.x)) : write(pair.x)});
    CHECK(explored(pair.build) == (parts ? kNoFailure : Failures{Failure::Race}));
  }
}

TEST_CASE("registers are each agent's own") {
  for (const Space space : {Space::Registers, Space::Tensor}) {
    Pair pair(1, {.name = "x", .bytes = 8, .space = space});
    pair.build.role("writers", 2).access({write(pair.x)});
    CHECK(explored(pair.build) ==
          (space == Space::Registers ? kNoFailure : Failures{Failure::Race}));
  }
}

TEST_CASE("nobody goes on who waits for an arrival that does not come") {
  for (const std::int32_t arrivals : {1, 2}) {
    Pair pair(arrivals);
    pair.build.role("writer").arrive(pair.full);
    pair.build.role("reader").wait(pair.full);
    CHECK(explored(pair.build) == (arrivals == 1 ? kNoFailure : Failures{Failure::Deadlock}));
  }
}

TEST_CASE("the phase before the first is over at the start") {
  Pair pair;
  pair.build.role("producer").waitFlipped(pair.full);
  CHECK(explored(pair.build).empty());
}

TEST_CASE("a wait that comes two phases late takes the parity for the earlier one") {
  for (const bool answers : {true, false}) {
    ScheduleBuilder build("late");
    const RingId ring = build.ring("ring", 1);
    const BarrierId full = build.barrier("full", ring, 1), empty = build.barrier("empty", ring, 1);
    auto producer = build.role("producer");
    const Index p = producer.cursor("p", ring);
    auto consumer = build.role("consumer");
    const Index c = consumer.cursor("c", ring);
    for (int use = 0; use < 2; ++use) {
      if (answers) producer.waitFlipped(empty, p);
      producer.arrive(full, p);
      producer.advance(p);
      consumer.wait(full, c);
      consumer.arrive(empty, c);
      consumer.advance(c);
    }
    CHECK(explored(build) == (answers ? kNoFailure : Failures{Failure::Deadlock}));
  }
}

TEST_CASE("an arrival of the next turn can be taken for one that is late") {
  Pair pair(2);
  auto fast = pair.build.role("fast");
  fast.arrive(pair.full);
  fast.arrive(pair.full);
  auto slow = pair.build.role("slow");
  slow.access({write(pair.x)});
  slow.arrive(pair.full, {}, 1);
  auto reader = pair.build.role("reader");
  reader.wait(pair.full);
  reader.access({read(pair.x)});
  CHECK(explored(pair.build) == Failures{Failure::Race});
}

TEST_CASE("more arrivals than a phase wants are too many") {
  for (const std::int32_t count : {1, 2}) {
    Pair pair(1);
    pair.build.role("writer").arrive(pair.full, {}, count);
    CHECK(explored(pair.build) == (count == 1 ? kNoFailure : Failures{Failure::OverArrival}));
  }
}

TEST_CASE("an arrival while bytes alone are awaited is one too many") {
  Pair pair(1);
  auto role = pair.build.role("writer");
  role.expect(pair.full, {}, 8);
  role.arrive(pair.full);
  CHECK(explored(pair.build) == Failures{Failure::OverArrival});
}

TEST_CASE("a copy lands at any time, and its barrier tells when") {
  for (const bool waits : {true, false}) {
    Pair pair;
    auto role = pair.build.role("role");
    role.expect(pair.full, {}, 8);
    role.copy({write(pair.x)}, pair.full, {}, 8);
    if (waits) role.wait(pair.full);
    role.access({read(pair.x)});
    CHECK(explored(pair.build) == (waits ? kNoFailure : Failures{Failure::Race}));
  }
}

TEST_CASE("bytes may land before they are expected") {
  Pair pair;
  auto role = pair.build.role("role");
  role.copy({write(pair.x)}, pair.full, {}, 8);
  role.expect(pair.full, {}, 8);
  role.wait(pair.full);
  role.access({read(pair.x)});
  CHECK(explored(pair.build).empty());
}

TEST_CASE("a phase is not over before the expected bytes, no more and no less, have landed") {
  for (const std::int64_t expected : {4, 12}) {
    Pair pair;
    auto role = pair.build.role("role");
    role.expect(pair.full, {}, expected);
    role.copy({write(pair.x)}, pair.full, {}, 8);
    role.wait(pair.full);
    CHECK(explored(pair.build) == Failures{Failure::Deadlock});
  }
}

TEST_CASE("a phase is over with the first of two copies where only that is expected") {
  for (const std::int64_t expected : {8, 16}) {
    Pair pair(1, {.name = "x", .bytes = 8, .parts = 2});
    auto role = pair.build.role("role");
    role.expect(pair.full, {}, expected);
    for (const std::int32_t half : {0, 1}) role.copy({part(half, write(pair.x))}, pair.full, {}, 8);
    role.wait(pair.full);
    role.access({read(pair.x)});
    CHECK(explored(pair.build).contains(Failure::Race) == (expected == 8));
  }
}

TEST_CASE("who meets goes on when all are there, and sees what the others did") {
  for (const std::int32_t parties : {1, 2, 3}) {
    ScheduleBuilder build("meeting");
    const BufferId x = build.buffer({.name = "x", .bytes = 8, .parts = 2});
    const MeetingId all = build.meeting("all", parties);
    auto role = build.role("role", 2);
    role.access({own(write(x))});
    role.meet(all);
    role.access({read(x)});
    const Failures found = explored(build);
    if (parties == 2) CHECK(found.empty());
    if (parties == 1) CHECK(found.contains(Failure::Race));
    if (parties == 3) CHECK(found == Failures{Failure::Deadlock});
  }
}

TEST_CASE("two meetings with different parties cannot share a number at a time") {
  for (const std::int32_t number : {0, 1}) {
    ScheduleBuilder build("numbers");
    const MeetingId pair = build.meeting("pair", 2), three = build.meeting("three", 3, number);
    build.role("pair", 2).meet(pair);
    build.role("three", 3).meet(three);
    CHECK(explored(build) == (number == 1 ? kNoFailure : Failures{Failure::Parties}));
  }
}

TEST_CASE("two meetings may share a number in turn") {
  ScheduleBuilder build("numbers");
  const MeetingId pair = build.meeting("pair", 2), three = build.meeting("three", 3);
  auto both = build.role("both", 2);
  both.meet(pair);
  both.meet(three);
  build.role("third").meet(three);
  // Only who is third may come too early.
  CHECK(explored(build) == Failures{Failure::Parties});
}

TEST_CASE("a barrier is used only when it was made") {
  for (const bool meets : {true, false}) {
    ScheduleBuilder build("made");
    const BarrierId full = build.barrier("full", {}, 1);
    const MeetingId all = build.meeting("all", 2);
    auto maker = build.role("maker");
    maker.init(full);
    if (meets) maker.meet(all);
    auto user = build.role("user");
    if (meets) user.meet(all);
    user.arrive(full);
    CHECK(explored(build) == (meets ? kNoFailure : Failures{Failure::Uninitialised}));
  }
}

TEST_CASE("nothing may be done with a barrier that was not made") {
  const std::vector<std::function<void(RoleBuilder &, const Pair &)>> uses = {
      [](RoleBuilder &role, const Pair &pair) { role.wait(pair.full); },
      [](RoleBuilder &role, const Pair &pair) { role.waitFlipped(pair.full); },
      [](RoleBuilder &role, const Pair &pair) { role.expect(pair.full, {}, 8); },
      [](RoleBuilder &role, const Pair &pair) { role.copy({}, pair.full, {}, 8); },
      [](RoleBuilder &role, const Pair &pair) {
        role.signal(role.queue({.name = "queue"}), pair.full);
      }};
  for (const auto &use : uses) {
    Pair pair;
    auto user = pair.build.role("user");
    use(user, pair);
    user.init(pair.full);
    CHECK(explored(pair.build) == Failures{Failure::Uninitialised});
  }
}

TEST_CASE("all slots of a barrier are made at once, also in a condition") {
  ScheduleBuilder build("slots");
  const TripsId k = build.trips("k");
  const RingId ring = build.ring("ring", 2);
  const BarrierId full = build.barrier("full", ring, 1);
  auto role = build.role("role");
  const Index at = role.cursor("at", ring);
  role.when(countOver(k, 0), [&] { role.init(full); });
  role.arrive(full, further(at, 1));
  CHECK(explored(build).empty());

  ScheduleBuilder late("late");
  const BarrierId made = late.barrier("made", {}, 1);
  const TripsId trips = late.trips("k");
  auto user = late.role("user");
  user.arrive(made);
  user.when(countOver(trips, 0), [&] { user.init(made); });
  CHECK(explored(late) == Failures{Failure::Uninitialised});
}

TEST_CASE("what is written after a reset is not what was there before") {
  for (const bool resets : {true, false}) {
    ScheduleBuilder build("reset");
    const RingId ring = build.ring("ring", 2);
    const BufferId x = build.buffer({.name = "x", .ring = ring, .bytes = 8});
    auto role = build.role("role");
    const Index at = role.cursor("at", ring);
    role.access({write(x, at)});
    role.advance(at);
    role.advance(at);
    if (resets) role.reset(at);
    role.access({read(x, further(at, resets ? 0 : -2))});
    CHECK(explored(build) == (resets ? Failures{Failure::Value} : kNoFailure));
  }
}

TEST_CASE("who finds whom at a meeting may depend on who comes first") {
  ScheduleBuilder build("pairs");
  const MeetingId pair = build.meeting("pair", 2);
  const BarrierId early = build.barrier("early", {}, 1), met = build.barrier("met", {}, 1);
  // Where the first finds the second, the third and the fourth wait for each other.
  auto first = build.role("first");
  first.arrive(early);
  first.meet(pair);
  build.role("second").meet(pair);
  auto third = build.role("third");
  third.meet(pair);
  third.arrive(met);
  auto fourth = build.role("fourth");
  fourth.wait(met);
  fourth.meet(pair);
  CHECK(explored(build) == Failures{Failure::Deadlock});
}

TEST_CASE("what an agent does with its own is not tried in every order") {
  ScheduleBuilder build("own");
  const BufferId x = build.buffer({.name = "x", .bytes = 8, .parts = 4});
  auto role = build.role("role", 4);
  for (int step = 0; step < 5; ++step) role.access({own(write(x))});
  const Program program = build.take();
  const auto count = [](TripsId, std::int64_t) { return std::int64_t{0}; };
  CHECK(explore(program, count).states == 4 * 5 + 1);
  CHECK(explore(program, count, {.reduced = false}).states == 6 * 6 * 6 * 6);
}

TEST_CASE("buffers that lie over each other hold one content") {
  for (const std::int64_t place : {0, 4, 8}) {
    ScheduleBuilder build("places");
    const BufferId x = build.buffer({.name = "x", .bytes = 8, .offset = 0});
    const BufferId y = build.buffer({.name = "y", .bytes = 8, .offset = place});
    auto role = build.role("role");
    role.access({write(x)});
    role.access({write(y)});
    role.access({read(x)});
    CHECK(explored(build) == (place == 8 ? kNoFailure : Failures{Failure::Value}));
  }
}

TEST_CASE("slots of a ring lie behind each other") {
  for (const std::int64_t place : {8, 16}) {
    ScheduleBuilder build("slots");
    const RingId ring = build.ring("ring", 2);
    const BufferId x = build.buffer({.name = "x", .ring = ring, .bytes = 8, .offset = 0});
    const BufferId y = build.buffer({.name = "y", .bytes = 8, .offset = place});
    auto role = build.role("role");
    const Index at = role.cursor("at", ring);
    role.access({write(x, further(at, 1))});
    role.access({write(y)});
    role.access({read(x, further(at, 1))});
    CHECK(explored(build) == (place == 16 ? kNoFailure : Failures{Failure::Value}));
  }
}

TEST_CASE("the search says when it gave up, and stops at the first failure where that is enough") {
  Pair pair(8);
  pair.build.role("many", 8).arrive(pair.full);
  pair.build.role("reader").wait(pair.full);
  const Program program = pair.build.take();
  const auto count = [](TripsId, std::int64_t) { return std::int64_t{0}; };
  CHECK_FALSE(explore(program, count, {.states = 10}).complete);

  Pair wrong(1);
  wrong.build.role("many", 8).arrive(wrong.full, {}, 2);
  const Program overArrives = wrong.build.take();
  const Exploration first = explore(overArrives, count, {.untilFirst = true});
  CHECK(first.complete);
  CHECK(first.failures == Failures{Failure::OverArrival});
}

} // namespace imbrex::testing
