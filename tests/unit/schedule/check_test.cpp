#include "backend/machine/machine.h"
#include "backend/schedule/check/check.h"
#include "backend/schedule/check/free_trips.h"
#include "backend/schedule/plan/budget.h"
#include "backend/schedule/program/program_text.h"
#include "tests/support/schedule_builder.h"
#include "tests/support/schedules.h"
#include "tests/unit/schedule/timed_programs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

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
  ScheduleOp fill{
      .kind = ScheduleOpKind::For,
      .trips = k,
      .body = {
          {.kind = ScheduleOpKind::Wait, .barrier = empty, .index = {produced}, .flipped = true},
          {.kind = ScheduleOpKind::Expect, .barrier = full, .index = {produced}, .bytes = 32768},
          {.kind = ScheduleOpKind::Copy,
           .accesses = {{.buffer = a, .index = {produced}, .writes = true}},
           .barrier = full,
           .index = {produced},
           .bytes = 32768},
          {.kind = ScheduleOpKind::Advance, .cursor = produced}}};
  load.body = {{.kind = ScheduleOpKind::For, .trips = tiles, .body = {fill}}};
  ScheduleOp use{.kind = ScheduleOpKind::For,
                 .trips = k,
                 .body = {
                     {.kind = ScheduleOpKind::Wait, .barrier = full, .index = {consumed}},
                     {.kind = ScheduleOpKind::Issue,
                      .accesses = {{.buffer = a, .index = {consumed}}},
                      .queue = products},
                     {.kind = ScheduleOpKind::Commit, .queue = products},
                 }};
  if (o.early)
    use.body.push_back({.kind = ScheduleOpKind::Arrive, .barrier = empty, .index = {consumed}});
  use.body.push_back({.kind = ScheduleOpKind::Drain, .count = o.inFlight, .queue = products});
  if (!o.early)
    use.body.push_back({.kind = ScheduleOpKind::If,
                        .guard = {Guard::Measure::Done, k, o.inFlight - 1},
                        .body = {{.kind = ScheduleOpKind::Arrive,
                                  .barrier = empty,
                                  .index = {consumed, -o.inFlight}}}});
  use.body.push_back({.kind = ScheduleOpKind::Advance, .cursor = consumed});
  std::vector<ScheduleOp> tile = {use,
                                  {.kind = ScheduleOpKind::Drain, .count = 0, .queue = products}};
  if (o.tail && !o.early)
    for (int i = o.inFlight; i > 0; --i)
      tile.push_back(
          {.kind = ScheduleOpKind::If,
           .guard = {Guard::Measure::Count, k, i - 1},
           .body = {{.kind = ScheduleOpKind::Arrive, .barrier = empty, .index = {consumed, -i}}}});
  compute.body = {{.kind = ScheduleOpKind::For, .trips = tiles, .body = tile}};
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

TEST_CASE(
    "warps of a role that write one place are told of parts, and of waits who are not of one") {
  const auto hintFor = [](const std::string &roles) {
    const Verdict verdict = prove(programOf("schedule @s { buffer %x 64 " + roles + " }"));
    REQUIRE_FALSE(verdict.isSafe());
    CHECK(verdict.findings.front().what.kind == Diag::ScheduleWriteRace);
    return verdict.findings.front().what.hint;
  };
  const std::string wait = "one of the two must wait until the other has ended";
  CHECK(hintFor("role %r warps 4 { access writes %x }") ==
        wait + ", or each warp of the role write a part of its own: 'parts', as many as there are "
               "warps, behind the bytes of "
               "the buffer, and 'own' in the index");
  CHECK(hintFor("role %r { access writes %x } role %s { access writes %x }") == wait);
  CHECK(prove(programOf("schedule @s { buffer %x 64 parts 4 role %r warps 4 { access writes "
                        "%x(own) } }"))
            .isSafe());
}

TEST_CASE("a slot that is given back before the products have read it is overwritten") {
  CHECK(isFound(Diag::ScheduleOverwriteRace, streamed({.early = true})));
}

TEST_CASE("slots that are not given back stop the next tile") {
  CHECK(isFound(Diag::ScheduleDeadlock, streamed({.tail = false})));
}

TEST_CASE("who comes to one meeting is not taken for somebody of another with its number") {
  Program program{.name = "mixed"};
  program.meetings = {{.name = "one", .parties = 2}, {.name = "other", .parties = 2}};
  program.roles = {
      {.name = "a", .body = {{.kind = ScheduleOpKind::Meet, .meeting = MeetingId(0)}}},
      {.name = "b", .body = {{.kind = ScheduleOpKind::Meet, .meeting = MeetingId(1)}}}};
  CHECK(isFound(Diag::ScheduleMixedMeeting, program));
}

TEST_CASE("more warps than a meeting has parties are too many, also where two are enough to see") {
  Program program{.name = "crowd"};
  program.meetings = {{.name = "all", .parties = 2}};
  program.roles = {
      {.name = "a", .warps = 3, .body = {{.kind = ScheduleOpKind::Meet, .meeting = MeetingId(0)}}}};
  CHECK(isFound(Diag::ScheduleEarlyMeeting, program));
}

TEST_CASE("more bytes than are expected are found though nobody waits for them") {
  ScheduleBuilder build("bytes");
  const BarrierId full = build.barrier("full", {}, 1);
  auto role = build.role("load");
  role.expect(full, {}, 8);
  role.copy({}, full, {}, 16);
  CHECK(isFound(Diag::ScheduleBytes, build.take()));
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

namespace {

/// Two loops in each other, whose tiles one warp has loaded for both. They meet in each trip, so
/// that all know of all reads before: nothing else is fenced.
Program loadedNest() {
  const auto ring = [](const std::string &n, const std::string &ahead) {
    return "ring %R" + n + " depth " + ahead + " {\nbuffer %A" + n + " 16\nbarrier %full" + n +
           "\n}\n";
  };
  const auto load = [](const std::string &n) {
    return "expect %full" + n + "(%p" + n + ") bytes 16\ncopy writes %A" + n + "(%p" + n +
           ") to %full" + n + "(%p" + n + ") bytes 16\nadvance %p" + n + "\n";
  };
  const auto loop = [&](const std::string &n, bool loads, const std::string &body) {
    std::string text;
    for (const char *least : {"0", "1", "2"})
      if (loads) text += "if count %k" + n + " > " + least + " {\n" + load(n) + "}\n";
    text += "for %k" + n + " {\nwait %full" + n + "(%c" + n + ")\nmeet %all\n";
    if (loads) text += "if left %k" + n + " > 3 {\n" + load(n) + "}\n";
    return text + "access reads %A" + n + "(%c" + n + ")\nadvance %c" + n + "\n" + body + "}\n";
  };
  const auto role = [&](const std::string &name, bool loads) {
    std::string text = "role %" + name + " {\n";
    for (const std::string n : {"0", "1"}) {
      if (loads) text += "cursor %p" + n + " in %R" + n + "\n";
      text += "cursor %c" + n + " in %R" + n + "\n";
    }
    return text + loop("0", loads, loop("1", loads, "")) + "}\n";
  };
  return programOf("schedule @nest {\ntrips %k0\ntrips %k1 in %k0\n" + ring("0", "4") +
                   ring("1", "4") + "meeting %all parties 2\n" + role("first", true) +
                   role("others", false) + "}\n");
}

} // namespace

TEST_CASE("a read that all know of holds up nobody, though no fence has told the proxy") {
  const Verdict verdict = prove(loadedNest());
  CHECK(verdict.isSafe());
  CHECK(verdict.states <= 150); // more than a thousand where the slots remember who has read them
}

TEST_CASE("a proof that takes more work than it may is given up, and one that fails is not") {
  const Program nest = loadedNest();
  const Verdict verdict = prove(nest);
  REQUIRE(verdict.states > 10);
  REQUIRE(verdict.work > 1000 * verdict.states);
  CHECK(takesMoreWork(nest, verdict.work - 1));
  CHECK_FALSE(takesMoreWork(nest, verdict.work));
  CHECK_FALSE(takesMoreWork(handedOn(4, "trips %k", ""), 100'000)); // it stops for ever
  CHECK(takesMoreWork(handedOn(4, "trips %k least 2147483647"), 100'000));
  CHECK(takesMoreWork(farLoop("from 1073741824 less 1073741824"), 100'000));
}

namespace {

/// Loops in each other, innermost last. In each trip of each a role loads into a ring of the loop's
/// own and the other reads, with barriers that are rings of their own, as kernels have.
Program handedOnInNest(int loops, const std::string &depth) {
  std::string declared, load, use, cursors, used, end;
  for (int i = 0; i < loops; ++i) {
    const std::string n = toText(i), in = " in %";
    const auto ring = [&](const std::string &name, const std::string &what) {
      declared += "ring %" + name + n + " depth " + depth + " {\n" + what + "\n}\n";
    };
    declared += "trips %k" + n + (i > 0 ? in + "k" + toText(i - 1) : "") + "\n";
    ring("T", "buffer %tile" + n + " 16");
    ring("F", "barrier %full" + n);
    ring("E", "barrier %empty" + n + " arrivals 2");
    for (const std::string of : {"T", "F", "E"}) {
      cursors += "cursor %p" + of + n + in + of + n + "\n";
      used += "cursor %c" + of + n + in + of + n + "\n";
    }
    const auto advance = [&](const std::string &of) {
      std::string text;
      for (const char *slots : {"T", "F", "E"}) text += "advance %" + of + slots + n + "\n";
      return text;
    };
    load += "for %k" + n + " {\nwait %empty" + n + "(%pE" + n + ") flipped\nexpect %full" + n +
            "(%pF" + n + ") bytes 16\ncopy writes %tile" + n + "(%pT" + n + ") to %full" + n +
            "(%pF" + n + ") bytes 16\n" + advance("p");
    use += "for %k" + n + " {\nwait %full" + n + "(%cF" + n + ")\naccess reads %tile" + n + "(%cT" +
           n + ")\narrive %empty" + n + "(%cE" + n + ")\n" + advance("c");
    end += "}\n";
  }
  return programOf("schedule @nest {\n" + declared + "role %load {\n" + cursors + load + end +
                   "}\nrole %use warps 2 {\n" + used + use + end + "}\n}\n");
}

} // namespace

TEST_CASE("loops in each other are proven in states that grow with their rings and not faster") {
  CHECK(prove(handedOnInNest(2, "3")).states <= 13);
  CHECK(prove(handedOnInNest(2, "8")).states <= 33); // there were tens of thousands
  const Verdict three = prove(handedOnInNest(3, "4"));
  CHECK(three.isSafe());
  CHECK(three.states <= 32);
}

TEST_CASE("loops in a row are forgotten when they are over") {
  std::string text;
  for (const char *n : {"0", "1", "2"}) {
    const std::string trips = std::string("%k") + n;
    for (int least = 0; least < 7; ++least)
      text += "if count " + trips + " > " + toText(least) + " {\naccess writes %A\n}\n";
    text += "for " + trips + " {\naccess writes %A\n}\n";
  }
  const Verdict verdict = prove(programOf("schedule @row {\ntrips %k0\ntrips %k1\ntrips %k2\n"
                                          "buffer %A 16\nrole %x {\n" +
                                          text + "}\n}\n"));
  CHECK(verdict.isSafe());
  CHECK(verdict.states <= 30); // eight times eight before the last
}

TEST_CASE("a finding shows its run from the first step on, with lines") {
  const Verdict verdict = prove(handedOn(2, "trips %k", "arrive %empty(%c, 1)"));
  REQUIRE_FALSE(verdict.isSafe());
  const std::vector<std::string> shown = verdict.findings.front().trace;
  const std::vector<std::string> meant{"load: wait 'empty' at use 0 (t.imx:11)",
                                       "load: expect 'full' at use 0 (t.imx:12)",
                                       "load: copy 'full' at use 0 writes 'A' at use 0 (t.imx:13)",
                                       "load: advance 'p' (t.imx:14)",
                                       "use: wait 'full' at use 0 (t.imx:20)",
                                       "use: access reads 'A' at use 0 (t.imx:21)"};
  for (std::size_t i = 0; i < meant.size(); ++i) {
    REQUIRE(i < shown.size());
    CHECK(shown[i] == meant[i]);
  }
  const Verdict parity = prove(streamed({.early = true}));
  const std::vector<std::string> &warps = parity.findings.front().trace;
  for (const char *who : {"load: ", "compute.0: ", "compute.1: "})
    CHECK(
        std::ranges::any_of(warps, [&](const std::string &line) { return line.starts_with(who); }));
}

TEST_CASE("of trips that are alike a run shows the first and the last, and how many there are") {
  const Verdict verdict = prove(handedOn(64, "trips %k", ""));
  REQUIRE_FALSE(verdict.isSafe());
  const std::vector<std::string> &shown = verdict.findings.front().trace;
  // A trip of both roles, how many more, and the last trip.
  REQUIRE(shown.size() == 7 + 1 + 7);
  CHECK(shown[0] == "load: wait 'empty' at use 0 (t.imx:11)");
  CHECK(shown[6] == "use: advance 'c' (t.imx:23)");
  CHECK(shown[7] == "… the same 62 times more …");
  CHECK(shown[8] == "load: wait 'empty' at use 63 (t.imx:11)");
  CHECK(shown[14] == "use: advance 'c' (t.imx:23)");
}

TEST_CASE("trips of a loop in another are free in each of its trips, where nobody asks outside") {
  const auto innerOf = [](const std::string &body) {
    Diagnostics diagnostics;
    const auto program = schedule::parse("schedule @s {\n  trips %k\n  trips %t\n  buffer %x 8\n"
                                         "  role %r {\n" +
                                             body + "\n  }\n}\n",
                                         "s.imx", diagnostics);
    REQUIRE_MESSAGE(program, diagnostics.render());
    const auto free = schedule::check::withFreeTrips(*program);
    return free ? free->trips[0].within : TripsId();
  };
  const TripsId tiles(1);
  CHECK(innerOf("for %t {\nfor %k {\n}\n}") == tiles);
  CHECK(innerOf("for %t {\nif count %k > 0 {\n}\nfor %k {\nif left %k > 1 {\n}\n}\n}") == tiles);
  CHECK(innerOf("for %t {\nfor %k {\n}\n}\nfor %t {\nfor %k {\n}\n}") == tiles);
  CHECK_FALSE(innerOf("for %t {\nfor %k {\n}\n}\nfor %k {\n}").valid());
  CHECK_FALSE(innerOf("if count %k > 0 {\n}\nfor %t {\nfor %k {\n}\n}").valid());
  CHECK_FALSE(innerOf("for %t {\n}\nfor %k {\n}").valid());
  CHECK_FALSE(innerOf("for %t {\nfor %k {\n}\n}\nfor %k {\nfor %t {\n}\n}").valid());
}

TEST_CASE("two loops in each other are proven whether or not the trips say so") {
  constexpr const char *kTiles = R"(
  ring %r depth 2 {
    buffer %a 8
    barrier %full
    barrier %empty
  }
  role %load {
    cursor %p in %r
    for %t {
      for %k {
        wait %empty(%p) flipped
        expect %full(%p) bytes 8
        copy writes %a(%p) to %full(%p) bytes 8
        advance %p
      }
    }
  }
  role %use {
    cursor %c in %r
    for %t {
      for %k {
        wait %full(%c)
        access reads %a(%c)
        arrive %empty(%c)
        advance %c
      }
    }
  }
}
)";
  for (const char *trips : {"trips %t trips %k in %t", "trips %t trips %k", "trips %k trips %t"}) {
    CAPTURE(std::string(trips));
    Diagnostics diagnostics;
    auto program =
        schedule::parse(std::string("schedule @s { ") + trips + kTiles, "s.imx", diagnostics);
    REQUIRE_MESSAGE(program, diagnostics.render());
    const schedule::Verdict verdict = schedule::prove(*program);
    CHECK(verdict.isSafe());
    CHECK(verdict.states < 20);
    // A slot that is given back before it was read.
    auto &body = program->roles[1].body[0].body[0].body;
    std::swap(body[1], body[2]);
    CHECK_FALSE(schedule::prove(*program).isSafe());
  }
}

TEST_CASE("what cannot be proven is told with the line of the loop, or of the schedule") {
  const auto lineOf = [](const Verdict &verdict) {
    REQUIRE_FALSE(verdict.isSafe());
    return toText(verdict.findings.front().what.where);
  };
  CHECK(lineOf(prove(farLoop("from 1073741824 less 1073741824"))) == "t.imx:5");
  CHECK(lineOf(prove(handedOn(3, "trips %k least 2147483647"))) == "t.imx:1");
  CHECK(lineOf(checkAt(handedOn(3), sameTrips({2147483647}))) == "t.imx:1");
}

TEST_CASE("what does not fit into a block is told with the line of the meeting or the schedule") {
  const Program program = programOf("\nschedule @p {\nmeeting %m parties 9\nbuffer %A 999999\nrole "
                                    "%x {\naccess writes %A\n}\n}\n");
  Diagnostics diagnostics;
  CHECK_FALSE(checkBudget(program, *machine::findMachine("sm_90a"), 1, diagnostics));
  REQUIRE(diagnostics.all().size() == 2);
  CHECK(toText(diagnostics.all()[0].where) == "t.imx:3");
  CHECK(toText(diagnostics.all()[1].where) == "t.imx:2");
}

namespace {

/// What is done in each trip of a loop that has others of its own, and behind it. Of those trips
/// nobody asks again, so that states differ in nothing but what they have left behind.
Program aroundLoop(const std::string &declared, const std::string &before,
                   const std::string &sometimes, const std::string &behind) {
  return programOf("schedule @p {\ntrips %o\ntrips %j in %o\ntrips %k\nbuffer %A 16\nbuffer %X "
                   "16\n" +
                   declared + before + "for %o {\nif count %j > 0 {\n" + sometimes + "}\n}\n" +
                   behind + "}\n}\n");
}

} // namespace

TEST_CASE("what a phase lacks is remembered when nobody asks for the reason any more") {
  const auto arriving = [](const std::string &once) {
    return aroundLoop("barrier %b arrivals 3\n", "role %x {\narrive %b\n", once,
                      "arrive %b\narrive %b\nwait %b\n");
  };
  CHECK(prove(arriving("")).isSafe());
  CHECK_FALSE(prove(arriving("arrive %b\n")).isSafe());
  const auto landing = [](const std::string &once) {
    return aroundLoop("buffer %B 16\nbarrier %b\n", "role %x {\n", once,
                      "expect %b bytes 16\ncopy writes %A to %b bytes 16\nwait %b\n");
  };
  CHECK(prove(landing("")).isSafe());
  CHECK_FALSE(prove(landing("copy writes %B to %b bytes 16\n")).isSafe());
}

TEST_CASE("which tile is being read is remembered, not only that one is") {
  const auto writing = [](const std::string &tile) {
    return programOf("schedule @p {\ntrips %o\ntrips %j in %o\nbuffer %A 16\nbuffer %B 16\n"
                     "buffer %Y 16\nmeeting %m parties 2\n"
                     "role %r {\naccess writes %A, %B\nmeet %m\nfor %o {\nif count %j > 0 {\n"
                     "meet %m\naccess reads %B\n}\nif count %j > 0 {\nmeet %m\n}\naccess reads "
                     "%A\nif count %j > 0 {\nmeet %m\naccess reads %B\n}\n}\n}\n"
                     "role %w {\nmeet %m\nfor %o {\nif count %j > 0 {\nmeet %m\nmeet %m\nmeet "
                     "%m\n}\n}\naccess writes " +
                     tile + "\n}\n}\n");
  };
  CHECK(prove(writing("%Y")).isSafe());
  CHECK(isFound(Diag::ScheduleOverwriteRace, writing("%A")));
  CHECK(isFound(Diag::ScheduleOverwriteRace, writing("%B"))); // where some trips have trips alone
}

TEST_CASE("what a cursor that goes back finds is remembered, however far it had gone") {
  const auto found = [](const std::string &once) {
    std::string far;
    for (int i = 0; i < 4; ++i) far += "advance %c\n";
    return aroundLoop("ring %R depth 2 {\nbuffer %T 16\n}\n",
                      "role %x {\ncursor %c in %R\naccess writes %T(%c)\n", once,
                      far + "for %k {\naccess writes %X\n}\nreset %c\naccess reads %T(%c)\n");
  };
  CHECK(prove(found("")).isSafe());
  CHECK(isFound(Diag::ScheduleWrongContent, found("access writes %T(%c, 2)\n")));
}

TEST_CASE("a plain write that all know of is still none that the proxy sees without a fence") {
  const auto handed = [](const std::string &fence) {
    return programOf("schedule @p {\ntrips %k\nbuffer %A 16\nbuffer %X 16\nrole %x {\n"
                     "queue %q async\naccess writes %A\nfor %k {\naccess writes %X\n}\n" +
                     fence + "issue %q reads %A\ndrain %q\n}\n}\n");
  };
  CHECK(prove(handed("fence\n")).isSafe());
  CHECK(isFound(Diag::ScheduleUnfenced, handed("")));
}

TEST_CASE("what is wrong in the same way with several parts is told once") {
  const Verdict verdict =
      prove(groupedGemm({.depth = 3, .warps = 4}, GroupedGemmDefect::DrainOneWeaker));
  Diagnostics diagnostics;
  CHECK_FALSE(report(verdict, diagnostics));
  std::set<std::string> told;
  std::size_t errors = 0;
  for (const Diagnostic &one : diagnostics.all()) {
    if (one.kind == Diag::ScheduleTrace) continue;
    told.insert(one.message);
    ++errors;
  }
  CHECK(errors == told.size());
  CHECK(errors < verdict.findings.size());
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
