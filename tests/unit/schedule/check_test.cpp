#include "backend/schedule/check.h"
#include "backend/schedule/program_text.h"
#include "tests/support/schedule_builder.h"
#include "tests/unit/schedule/timed_programs.h"

#include <doctest/doctest.h>

using namespace imbrex;
using namespace imbrex::schedule;
using namespace imbrex::testing;

namespace {

struct Options {
  int depth = 4, consumers = 2, inFlight = 1;
  bool early = false, tail = true;
};

Program streamed(const Options &o) {
  Program p{.name = "streamed"};
  const TripsId tiles(0), k(1);
  p.trips = {{.name = "tiles"}, {.name = "k", .within = tiles}};
  const RingId ring(0);
  p.rings = {{.name = "AB", .depth = o.depth}};
  const BufferId a(0);
  p.buffers = {{.name = "A", .ring = ring, .bytes = 32768}};
  const BarrierId full(0), empty(1);
  p.barriers = {{.name = "full", .ring = ring, .arrivals = 1},
                {.name = "empty", .ring = ring, .arrivals = o.consumers}};
  const CursorId produced(0), consumed(1);
  p.cursors = {{.name = "p", .role = RoleId(0), .ring = ring},
               {.name = "c", .role = RoleId(1), .ring = ring}};
  const QueueId products(0);
  p.queues = {{.name = "products", .role = RoleId(1), .grouped = true, .async = true}};
  Role load{.name = "load"}, compute{.name = "compute", .warps = o.consumers};
  Op fill{.kind = OpKind::For,
          .trips = k,
          .body = {{.kind = OpKind::Wait, .barrier = empty, .index = {produced}, .flipped = true},
                   {.kind = OpKind::Expect, .barrier = full, .index = {produced}, .bytes = 32768},
                   {.kind = OpKind::Copy,
                    .accesses = {{.buffer = a, .index = {produced}, .writes = true}},
                    .barrier = full,
                    .index = {produced},
                    .bytes = 32768},
                   {.kind = OpKind::Advance, .cursor = produced}}};
  load.body = {{.kind = OpKind::For, .trips = tiles, .body = {fill}}};
  Op use{.kind = OpKind::For,
         .trips = k,
         .body = {
             {.kind = OpKind::Wait, .barrier = full, .index = {consumed}},
             {.kind = OpKind::Issue,
              .accesses = {{.buffer = a, .index = {consumed}}},
              .queue = products},
             {.kind = OpKind::Commit, .queue = products},
         }};
  if (o.early) use.body.push_back({.kind = OpKind::Arrive, .barrier = empty, .index = {consumed}});
  use.body.push_back({.kind = OpKind::Drain, .count = o.inFlight, .queue = products});
  if (!o.early)
    use.body.push_back(
        {.kind = OpKind::If,
         .guard = {Guard::Measure::Done, k, o.inFlight - 1},
         .body = {{.kind = OpKind::Arrive, .barrier = empty, .index = {consumed, -o.inFlight}}}});
  use.body.push_back({.kind = OpKind::Advance, .cursor = consumed});
  std::vector<Op> tile = {use, {.kind = OpKind::Drain, .count = 0, .queue = products}};
  if (o.tail && !o.early)
    for (int i = o.inFlight; i > 0; --i)
      tile.push_back(
          {.kind = OpKind::If,
           .guard = {Guard::Measure::Count, k, i - 1},
           .body = {{.kind = OpKind::Arrive, .barrier = empty, .index = {consumed, -i}}}});
  compute.body = {{.kind = OpKind::For, .trips = tiles, .body = tile}};
  p.roles = {load, compute};
  return p;
}

bool isFound(Diag kind, const Program &program) {
  const Verdict verdict = prove(program);
  return !verdict.isSafe() && verdict.findings.front().what.kind == kind;
}

} // namespace

TEST_CASE("a ring needs one slot more than products in flight") {
  for (int depth = 1; depth <= 5; ++depth)
    for (int inFlight = 0; inFlight < 4; ++inFlight) {
      CAPTURE(depth);
      CAPTURE(inFlight);
      CHECK(prove(streamed({.depth = depth, .inFlight = inFlight})).isSafe() == (depth > inFlight));
    }
}

TEST_CASE("each warp of a role takes part") { CHECK(prove(streamed({.consumers = 8})).isSafe()); }

TEST_CASE("a slot that is given back before the products have read it is overwritten") {
  CHECK(isFound(Diag::ScheduleOverwriteRace, streamed({.early = true})));
}

TEST_CASE("slots that are not given back stop the next tile") {
  CHECK(isFound(Diag::ScheduleDeadlock, streamed({.tail = false})));
}

TEST_CASE("who comes to one meeting is not taken for somebody of another with its number") {
  Program program{.name = "mixed"};
  program.meetings = {{.name = "one", .parties = 2}, {.name = "other", .parties = 2}};
  program.roles = {{.name = "a", .body = {{.kind = OpKind::Meet, .meeting = MeetingId(0)}}},
                   {.name = "b", .body = {{.kind = OpKind::Meet, .meeting = MeetingId(1)}}}};
  CHECK(isFound(Diag::ScheduleMixedMeeting, program));
}

TEST_CASE("a queue of the async proxy signals a barrier behind a fence alone, others at once") {
  for (const bool async : {false, true}) {
    CAPTURE(async);
    ScheduleBuilder build("signalled");
    const BarrierId done = build.barrier("done", {}, 1);
    auto role = build.role("all");
    const QueueId queue = role.queue({.name = "products", .async = async});
    role.init(done);
    role.signal(queue, done);
    role.wait(done);
    const Program program = build.take();
    CHECK(prove(program).isSafe() == !async);
    if (async) CHECK(isFound(Diag::ScheduleUnmade, program));
  }
}

namespace {

Program handedOn(std::int32_t depth, const std::string &trips = "trips %k",
                 const std::string &release = "arrive %empty(%c)") {
  return programOf("schedule @deep {\n" + trips + "\nring %R depth " + std::to_string(depth) +
                   " {\nbuffer %A 16\nbarrier %full\nbarrier %empty\n}\n"
                   "role %load {\ncursor %p in %R\nfor %k {\n"
                   "wait %empty(%p) flipped\nexpect %full(%p) bytes 16\n"
                   "copy writes %A(%p) to %full(%p) bytes 16\nadvance %p\n}\n}\n"
                   "role %use {\ncursor %c in %R\nfor %k {\n"
                   "wait %full(%c)\naccess reads %A(%c)\n" +
                   release + "\nadvance %c\n}\n}\n}\n");
}

/// A loop of loads started ahead, of trips and a ring of its own.
std::string loadedAhead(const std::string &n, std::int32_t depth) {
  const auto times = [](std::int32_t count, const std::string &text) {
    std::string all;
    for (std::int32_t i = 0; i < count; ++i) all += text;
    return all;
  };
  const std::string ahead = std::to_string(depth - 1);
  const std::string start = "issue %q" + n + " writes %A" + n + "(%p" + n + ", own)\n}\ncommit %q" +
                            n + "\nadvance %p" + n + "\n";
  std::string text;
  for (std::int32_t i = 0; i < depth - 1; ++i)
    text += "if count %k" + n + " > " + std::to_string(i) + " {\n" + start;
  return text + "for %k" + n + " {\ndrain %q" + n + " to " + std::to_string(depth - 2) +
         "\nmeet %all\nif left %k" + n + " > " + ahead + " {\n" + start + "access reads %A" + n +
         "(%c" + n + ")\nadvance %c" + n + "\n}\ndrain %q" + n + "\n" +
         times(depth - 1, "advance %c" + n + "\n") + "meet %all\n";
}

/// Two of them in a loop around.
Program twoLoadedAhead(std::int32_t depth) {
  std::string rings, names, bodies;
  for (const std::string n : {"0", "1"}) {
    rings += "ring %R" + n + " depth " + std::to_string(depth) + " {\nbuffer %A" + n +
             " 4096 parts 4\n}\n";
    names += "cursor %p" + n + " in %R" + n + "\ncursor %c" + n + " in %R" + n + "\n";
    bodies += loadedAhead(n, depth);
  }
  return programOf("schedule @two {\ntrips %o\ntrips %k0 in %o\ntrips %k1 in %o\n" + rings +
                   "meeting %all parties 4\nrole %x warps 4 {\n" + names +
                   "queue %q0 grouped\nqueue %q1 grouped\nfor %o {\n" + bodies + "}\n}\n}\n");
}

/// Its trips start at `from` and leave out `less`.
Program farLoop(const std::string &from) {
  return programOf("schedule @far {\ntrips %k\nbuffer %A 16\nrole %x {\nfor %k " + from +
                   " {\naccess writes %A\n}\n}\nrole %y {\naccess writes %A\n}\n}\n");
}

} // namespace

TEST_CASE("a deep ring is proven in few states, and its mistakes are found") {
  for (const std::int32_t depth : {16, 100, 300}) {
    CAPTURE(depth);
    const Verdict verdict = prove(handedOn(depth));
    CHECK(verdict.isSafe());
    CHECK(verdict.states <= 4);
    CHECK(verdict.steps <= 8 * 3 * depth);
  }
  const Verdict early = prove(handedOn(64, "trips %k", "arrive %empty(%c, 1)"));
  REQUIRE_FALSE(early.isSafe());
  CHECK(early.findings.front().what.kind != Diag::ScheduleTooLarge);
  const Verdict never = prove(handedOn(64, "trips %k", ""));
  REQUIRE_FALSE(never.isSafe());
  CHECK(never.findings.front().what.kind == Diag::ScheduleDeadlock);
  CHECK(never.findings.front().trips == "k >= 65");
}

TEST_CASE("a slot that was used and is free is like one that never was") {
  CHECK(prove(handedOn(8)).states <= 9);
}

TEST_CASE("loops in a row do not multiply their states, however deep their rings") {
  const Verdict verdict = prove(twoLoadedAhead(6));
  CHECK(verdict.isSafe());
  CHECK(verdict.states <= 100); // each first round of one ring with each of the other: thousands
}

TEST_CASE("a content that can still be read is told from one that cannot") {
  const Verdict verdict = prove(programOf(
      "schedule @p {\ntrips %b\ntrips %d\nring %R depth 1 {\nbuffer %A 16\n}\nbuffer %X 16\n"
      "role %x {\ncursor %c in %R\naccess writes %A(%c)\nfor %b {\nadvance %c\n}\n"
      "for %d {\naccess writes %X\n}\naccess reads %A(%c)\n}\n}\n"));
  REQUIRE_FALSE(verdict.isSafe());
  CHECK(verdict.findings.front().what.kind == Diag::ScheduleWrongContent);
}

TEST_CASE("loops of too many trips are refused and not run") {
  const auto kindOf = [](const Verdict &verdict) {
    REQUIRE_FALSE(verdict.isSafe());
    return verdict.findings.front().what.kind;
  };
  CHECK(kindOf(prove(handedOn(3, "trips %k least 2147483647"))) == Diag::ScheduleTooLarge);
  CHECK(kindOf(checkAt(handedOn(3), sameTrips({2147483647}))) == Diag::ScheduleTooLarge);
  CHECK(kindOf(prove(farLoop("from 1073741824 less 1073741824"))) == Diag::ScheduleUnbounded);
  CHECK(prove(farLoop("from 2147483647 less 1")).isSafe()); // it never runs
}
