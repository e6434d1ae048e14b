#include "backend/schedule/check.h"
#include "tests/support/schedule_builder.h"

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
