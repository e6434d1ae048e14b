#include "backend/schedule/program/attributes.h"
#include "backend/schedule/program/program_text.h"
#include "backend/schedule/program/well_formed.h"
#include "tests/unit/schedule/timed_programs.h"

#include <doctest/doctest.h>

#include <functional>

using namespace imbrex;
using namespace imbrex::schedule;
using testing::programOf;

namespace {

/// What the verifier says of a program; empty where it is well formed.
std::string verdict(const Program &program) {
  Diagnostics diagnostics;
  const bool isSound = verify(program, diagnostics);
  CHECK(isSound == !diagnostics.hasErrors());
  return diagnostics.render();
}

/// Of a text that parses.
std::string verdict(std::string_view text) { return verdict(programOf(std::string(text))); }

/// One of each kind, with the operations in role %r.
Program withOps(std::string_view ops) {
  return programOf(R"(schedule @s {
    trips %tiles trips %k in %tiles trips %n
    ring %AB depth 2 { buffer %A 64 parts 4 barrier %full } ring %C depth 2 { buffer %B 64 }
    buffer %x 16 barrier %ready meeting %all
    role %r warps 4 {
      cursor %c in %AB cursor %d in %C queue %q capacity 3 queue %g grouped
)" + std::string(ops) +
                   "\n} role %other { cursor %o in %AB queue %p } }");
}

std::string verdictOf(std::string_view ops) { return verdict(withOps(ops)); }

/// After a change that no text can make.
std::string verdictAfter(std::string_view ops, const std::function<void(Program &)> &change) {
  Program program = withOps(ops);
  change(program);
  return verdict(program);
}

} // namespace

TEST_CASE("a cursor walks the ring of what it indexes") {
  CHECK(verdictOf("wait %full(%c) access reads %A(%c), %B(%d)").empty());
  CHECK(verdictOf("wait %full(%d)\naccess writes %B(%d) reads %B(%c)") ==
        "t.imx:7: error: 'wait' means a slot of 'full' by the cursor 'd', which walks ring 'C'\n"
        "  hint: 'full' lies in ring 'AB': use a cursor of that ring\n"
        "t.imx:8: error: 'access' means a slot of 'B' by the cursor 'c', which walks ring 'AB'\n"
        "  hint: 'B' lies in ring 'C': use a cursor of that ring\n");
}

TEST_CASE("what lies in a ring has an index") {
  CHECK(verdictOf("arrive %full\naccess reads %A(part 1)") ==
        "t.imx:7: error: 'arrive' does not say which slot of 'full' it means\n"
        "  hint: it lies in ring 'AB': write '%full(%cursor)', with a cursor of that ring\n"
        "t.imx:8: error: 'access' does not say which slot of 'A' it means\n"
        "  hint: it lies in ring 'AB': write '%A(%cursor)', with a cursor of that ring\n");
}

TEST_CASE("what lies in no ring has no index") {
  CHECK(verdictOf("wait %ready access reads %x(part 0)").empty());
  const std::string hint = "  hint: leave the index out, or declare 'x' in the ring\n";
  CHECK(verdictOf("access reads %x(%c)") ==
        "t.imx:7: error: 'access' means a slot of 'x', which lies in no ring\n" + hint);
  CHECK(verdictAfter("access reads %x", [](Program &p) {
          p.roles[0].body[0].accesses[0].index.offset = 1;
        }) == "t.imx:7: error: 'access' means a slot of 'x', which lies in no ring\n" + hint);
}

TEST_CASE("a barrier is made without an index") {
  CHECK(verdictOf("init %full init %ready").empty());
  CHECK(verdictOf("init %full(%c)") ==
        "t.imx:7: error: 'init' has an index, which means nothing for it\n");
}

TEST_CASE("a copy says at which barrier its bytes count, unless barriers are still to be added") {
  const std::string_view copy = "copy writes %x bytes 16";
  CHECK(verdictOf(copy) == "t.imx:7: error: 'copy' does not say at which barrier its bytes count\n"
                           "  hint: write 'to %barrier(%cursor)' behind what it writes\n");
  Diagnostics diagnostics;
  CHECK_MESSAGE(verify(withOps(copy), diagnostics, Completeness::WithoutBarriers),
                diagnostics.render());
  Program indexed = withOps(copy);
  indexed.roles[0].body[0].index.offset = 1;
  CHECK(!verify(indexed, diagnostics, Completeness::WithoutBarriers));
  CHECK(diagnostics.render() ==
        "t.imx:7: error: 'copy' has an index, which means nothing for it\n");
  CHECK(!verify(withOps("copy writes %x to %full bytes 16"), diagnostics,
                Completeness::WithoutBarriers));
}

TEST_CASE("a role uses its own cursors and queues alone") {
  const auto other = [](auto ScheduleOp::*member, auto id) {
    return [=](Program &p) { p.roles[0].body[0].*member = id; };
  };
  const std::string hint = "  hint: each role has cursors and queues of its own\n";
  CHECK(verdictAfter("advance %c", other(&ScheduleOp::cursor, CursorId(2))) ==
        "t.imx:7: error: 'advance' in role 'r' uses the cursor 'o' of role 'other'\n" + hint);
  CHECK(verdictAfter("drain %q", other(&ScheduleOp::queue, QueueId(2))) ==
        "t.imx:7: error: 'drain' in role 'r' uses the queue 'p' of role 'other'\n" + hint);
  CHECK(verdictAfter("wait %full(%c)", other(&ScheduleOp::index, Index{.cursor = CursorId(2)})) ==
        "t.imx:7: error: 'wait' in role 'r' uses the cursor 'o' of role 'other'\n" + hint);
  CHECK(verdictAfter("access reads %A(%c)", [](Program &p) {
          p.roles[0].body[0].accesses[0].index.cursor = CursorId(2);
        }) == "t.imx:7: error: 'access' in role 'r' uses the cursor 'o' of role 'other'\n" + hint);
}

TEST_CASE("only the groups of a grouped queue are closed") {
  CHECK(verdictOf("issue %g commit %g").empty());
  CHECK(verdictOf("commit %q") ==
        "t.imx:7: error: 'commit' closes a group of the queue 'q', which is not grouped\n"
        "  hint: declare it as 'queue %q grouped', or leave the commit out\n");
}

TEST_CASE("what is issued into a group is not counted") {
  CHECK(verdictOf("issue %q count 2 signal %ready after %g count 2").empty());
  CHECK(verdictOf("issue %g count 2") ==
        "t.imx:7: error: 'issue' counts 2 entries of the queue 'g', whose entries are groups\n"
        "  hint: leave the count out: 'commit' makes an entry\n");
}

TEST_CASE("a drain leaves at most what the queue can count") {
  CHECK(verdictOf("drain %q to 3").empty());
  CHECK(verdictOf("drain %q to 4") ==
        "t.imx:7: error: 'drain' cannot leave 4 entries of the queue 'q', whose capacity is 3\n"
        "  hint: drain to 3 or less\n");
}

TEST_CASE("a part is one that the buffer has") {
  CHECK(verdictOf("access reads %A(%c, part 3)").empty());
  CHECK(verdictOf("access reads %A(%c, part 4)") ==
        "t.imx:7: error: 'access' names part 4 of 'A', whose last part is 3\n"
        "  hint: parts count from 0\n");
  CHECK(verdictAfter("access reads %A(%c, part 0)",
                     [](Program &p) { p.roles[0].body[0].accesses[0].number = -1; }) ==
        "t.imx:7: error: 'access' names part -1 of 'A', whose last part is 3\n"
        "  hint: parts count from 0\n");
}

TEST_CASE("each warp of a role has a part of its own, or none is named so") {
  CHECK(verdictOf("access reads %A(%c, own)").empty());
  CHECK(verdictOf("access reads %B(%d, own)") ==
        "t.imx:7: error: 'access' means each warp's own part of 'B', which has parts: 1, "
        "and role 'r' has warps: 4\n"
        "  hint: declare a part for each warp\n");
}

TEST_CASE("parts are equally large") {
  CHECK(verdict("schedule @s { buffer %x 64 parts 3 buffer %y 63 parts 3 }") ==
        "t.imx:1: error: 3 parts do not divide the 64 bytes of the buffer 'x'\n"
        "  hint: parts are equally large\n");
}

TEST_CASE("trips are declared after those that they lie within") {
  CHECK(verdict("schedule @s { trips %k in %k }") ==
        "t.imx:1: error: the trips 'k' are declared within trips 'k', which are not declared "
        "before them\n"
        "  hint: declare the trips of the outer loop first\n");
  CHECK(verdictAfter("", [](Program &p) { p.trips[0].within = TripsId(2); }) ==
        "t.imx:2: error: the trips 'tiles' are declared within trips 'n', which are not declared "
        "before them\n"
        "  hint: declare the trips of the outer loop first\n");
}

TEST_CASE("trips within others are known only inside a loop over those") {
  CHECK(verdictOf("for %tiles { for %k { } if count %k > 0 { } } if count %n > 0 { }").empty());
  const std::string hint = "  hint: put it inside that loop, or declare 'k' without 'in %tiles'\n";
  CHECK(verdictOf("for %k { }\nfor %n { if count %k > 0 { } }\nfor %tiles { } for %k { }") ==
        "t.imx:7: error: 'for' needs trips 'k', which are known only inside a loop over "
        "'tiles'\n" +
            hint +
            "t.imx:8: error: 'if' needs trips 'k', which are known only inside a loop over "
            "'tiles'\n" +
            hint +
            "t.imx:9: error: 'for' needs trips 'k', which are known only inside a loop over "
            "'tiles'\n" +
            hint);
}

TEST_CASE("a condition asks for the trip of a loop that it stands in") {
  CHECK(verdictOf("for %n { for %tiles { if done %n > 0 { if left %tiles > 1 { } } } }").empty());
  CHECK(verdictOf("if done %n > 0 { }\nfor %tiles { if left %n > 0 { } }") ==
        "t.imx:7: error: 'done %n' asks which trip of 'n' this is, outside of a loop over it\n"
        "  hint: 'count %n' can be asked anywhere\n"
        "t.imx:8: error: 'left %n' asks which trip of 'n' this is, outside of a loop over it\n"
        "  hint: 'count %n' can be asked anywhere\n");
}

TEST_CASE("no loop stands inside another one over the same trips") {
  CHECK(verdictOf("for %n { } for %n { }").empty());
  CHECK(verdictOf("for %n { if count %n > 1 {\nfor %n { } } }") ==
        "t.imx:8: error: a loop over 'n' stands inside another loop over 'n'\n"
        "  hint: declare trips for each of them\n");
}

TEST_CASE("an operation is busy no longer than it takes, and with something") {
  CHECK(verdictOf("fence takes 4 on x busy 4 fence takes 4").empty());
  CHECK(verdictOf("fence takes 4 on x busy 5\nfence takes 4 busy 1") ==
        "t.imx:7: error: 'fence' is busy for 5 cycles, but takes 4\n"
        "t.imx:8: error: 'fence' is busy for 1 cycles, but does not say on what\n"
        "  hint: such as 'takes 16 on tensor busy 16'\n");
}

TEST_CASE("buffers may lie over one another, meetings share a number, cursors be reset") {
  CHECK(verdict("schedule @s { ring %x depth 2 { buffer %a 64 at 0 buffer %b 64 at 32 }\n"
                "meeting %m number 1 meeting %n number 1\n"
                "role %r { cursor %c in %x reset %c } }")
            .empty());
}

TEST_CASE("names are words, and of one kind each has its own") {
  CHECK(verdict("schedule @s { trips %a ring %a { buffer %a 4 barrier %a } meeting %a\n"
                "role %a { cursor %a in %a queue %a } role %b { cursor %a in %a queue %a } }")
            .empty());
  const auto bad = [](const auto &name) {
    return verdictAfter("", [&](Program &p) { name(p) = "a b"; });
  };
  const auto badName = [](std::string_view noun) {
    return "imbrex: error: \"a b\" is no name for a " + std::string(noun) +
           "\n  hint: a name is a word of letters, digits, '_' and '.', from a letter on\n";
  };
  CHECK(bad([](Program &p) -> auto & { return p.trips[0].name; }) == badName("count of trips"));
  CHECK(bad([](Program &p) -> auto & { return p.rings[0].name; }) == badName("ring"));
  CHECK(bad([](Program &p) -> auto & { return p.buffers[0].name; }) == badName("buffer"));
  CHECK(bad([](Program &p) -> auto & { return p.barriers[0].name; }) == badName("barrier"));
  CHECK(bad([](Program &p) -> auto & { return p.meetings[0].name; }) == badName("meeting"));
  CHECK(bad([](Program &p) -> auto & { return p.roles[0].name; }) == badName("role"));
  CHECK(bad([](Program &p) -> auto & { return p.cursors[0].name; }) == badName("cursor"));
  CHECK(bad([](Program &p) -> auto & { return p.queues[0].name; }) == badName("queue"));
  CHECK(verdictAfter("", [](Program &p) { p.barriers[1].name = "full"; }) ==
        "imbrex: error: there are two barriers with the name 'full'\n");
  CHECK(verdictAfter("", [](Program &p) { p.cursors[1].name = "c"; }) ==
        "imbrex: error: there are two cursors with the name 'c'\n");
}

TEST_CASE("numbers lie in their ranges") {
  const auto number = [](std::string_view ops, const std::function<void(Program &)> &change,
                         std::string_view what, std::int64_t least, std::int64_t most) {
    CHECK(verdictAfter(ops, change)
              .find(std::string(what) + "\n  hint: it is a number from " + std::to_string(least) +
                    " to " + std::to_string(most)) != std::string::npos);
  };
  constexpr std::int64_t kMost = 2147483647;
  const auto op = [](auto member, std::int64_t to) {
    return [=](Program &p) { member(p.roles[0].body[0]) = static_cast<std::int32_t>(to); };
  };
  number(
      "", [](Program &p) { p.trips[0].least = -1; },
      "'least' of count of trips 'tiles' cannot be '-1'", 0, kMost);
  number(
      "", [](Program &p) { p.rings[0].depth = 0; }, "'depth' of ring 'AB' cannot be '0'", 1, 65536);
  number(
      "", [](Program &p) { p.buffers[0].bytes = -64; }, "'bytes' of buffer 'A' cannot be '-64'", 1,
      kMost);
  number(
      "", [](Program &p) { p.buffers[0].bytes = kMost + 1; },
      "'bytes' of buffer 'A' cannot be '2147483648'", 1, kMost);
  number(
      "", [](Program &p) { p.buffers[0].parts = 0; }, "'parts' of buffer 'A' cannot be '0'", 1,
      kMost);
  number(
      "", [](Program &p) { p.buffers[0].offset = -1; }, "'at' of buffer 'A' cannot be '-1'", 0,
      kMost);
  number(
      "", [](Program &p) { p.barriers[0].arrivals = 0; },
      "'arrivals' of barrier 'full' cannot be '0'", 1, kMost);
  number(
      "", [](Program &p) { p.meetings[0].parties = 1025; },
      "'parties' of meeting 'all' cannot be '1025'", 1, 1024);
  number(
      "", [](Program &p) { p.meetings[0].number = -1; }, "'number' of meeting 'all' cannot be '-1'",
      0, kMost);
  number(
      "", [](Program &p) { p.roles[0].warps = 0; }, "'warps' of role 'r' cannot be '0'", 1, 1024);
  number(
      "", [](Program &p) { p.roles[0].registers = -1; }, "'registers' of role 'r' cannot be '-1'",
      0, kMost);
  number(
      "", [](Program &p) { p.queues[0].capacity = -1; }, "'capacity' of queue 'q' cannot be '-1'",
      0, kMost);
  const auto count = [](ScheduleOp &o) -> auto & { return o.count; };
  number("arrive %ready", op(count, 0), "'count' of 'arrive' cannot be '0'", 1, kMost);
  number("issue %q", op(count, 0), "'count' of 'issue' cannot be '0'", 1, kMost);
  number("signal %ready after %q", op(count, 0), "'count' of 'signal' cannot be '0'", 1, kMost);
  number("expect %ready bytes 1", op(count, -1), "'count' of 'expect' cannot be '-1'", 0, kMost);
  number("drain %q", op(count, -1), "'to' of 'drain' cannot be '-1'", 0, kMost);
  number("expect %ready", [](Program &) {}, "'bytes' of 'expect' cannot be '0'", 1, kMost);
  number("copy writes %x to %ready", [](Program &) {}, "'bytes' of 'copy' cannot be '0'", 1, kMost);
  number("for %n { }", op([](ScheduleOp &o) -> auto & { return o.first; }, -1),
         "'from' of 'for' cannot be '-1'", 0, kMost);
  number("for %n { }", op([](ScheduleOp &o) -> auto & { return o.less; }, -1),
         "'less' of 'for' cannot be '-1'", 0, kMost);
  number("fence", op([](ScheduleOp &o) -> auto & { return o.cost.cycles; }, -1),
         "'takes' of 'fence' cannot be '-1'", 0, kMost);
  number("fence", op([](ScheduleOp &o) -> auto & { return o.cost.busy; }, -1),
         "'busy' of 'fence' cannot be '-1'", 0, kMost);
}

TEST_CASE("whatever is named is there") {
  const auto lost = [](std::string_view ops, const std::function<void(Program &)> &change) {
    return verdictAfter(ops, change);
  };
  const auto op = [](auto member, auto id) {
    return [=](Program &p) { member(p.roles[0].body[0]) = id; };
  };
  const auto says = [](std::string_view what, std::string_view noun) {
    return std::string(what) + " names a " + std::string(noun) +
           " that the schedule does not have\n";
  };
  CHECK(lost("", [](Program &p) { p.trips[1].within = TripsId(9); }) ==
        says("imbrex: error: trips 'k'", "count of trips"));
  CHECK(lost("", [](Program &p) { p.buffers[0].ring = RingId(9); }) ==
        says("imbrex: error: buffer 'A'", "ring"));
  CHECK(lost("wait %full(%c)", [](Program &p) { p.barriers[0].ring = RingId(9); }) ==
        says("imbrex: error: barrier 'full'", "ring"));
  CHECK(lost("wait %full(%c)", [](Program &p) { p.cursors[0].ring = {}; }) ==
        says("imbrex: error: cursor 'c'", "ring"));
  CHECK(lost("wait %full(%c)", [](Program &p) { p.cursors[0].role = RoleId(2); }) ==
        says("imbrex: error: cursor 'c'", "role"));
  CHECK(lost("", [](Program &p) { p.queues[0].role = {}; }) ==
        says("imbrex: error: queue 'q'", "role"));
  CHECK(lost("wait %ready", op([](ScheduleOp &o) -> auto & { return o.barrier; }, BarrierId(2))) ==
        says("t.imx:7: error: 'wait'", "barrier"));
  CHECK(lost("drain %q", op([](ScheduleOp &o) -> auto & { return o.queue; }, QueueId())) ==
        says("t.imx:7: error: 'drain'", "queue"));
  CHECK(lost("meet %all", op([](ScheduleOp &o) -> auto & { return o.meeting; }, MeetingId(1))) ==
        says("t.imx:7: error: 'meet'", "meeting"));
  CHECK(lost("reset %c", op([](ScheduleOp &o) -> auto & { return o.cursor; }, CursorId(3))) ==
        says("t.imx:7: error: 'reset'", "cursor"));
  CHECK(lost("for %n { }", op([](ScheduleOp &o) -> auto & { return o.trips; }, TripsId(3))) ==
        says("t.imx:7: error: 'for'", "count of trips"));
  CHECK(lost("if count %n > 0 { }",
             op([](ScheduleOp &o) -> auto & { return o.guard.trips; }, TripsId())) ==
        says("t.imx:7: error: 'if'", "count of trips"));
  CHECK(lost("wait %full(%c)", op([](ScheduleOp &o) -> auto & { return o.index.cursor; },
                                  CursorId(3))) == says("t.imx:7: error: 'wait'", "cursor"));
  CHECK(lost("access reads %x", op([](ScheduleOp &o) -> auto & { return o.accesses[0].buffer; },
                                   BufferId(3))) == says("t.imx:7: error: 'access'", "buffer"));
}

TEST_CASE("an operation has nothing that it does not use") {
  const auto unused = [](std::string_view op, const std::function<void(ScheduleOp &)> &change) {
    const std::string text = verdictAfter(op, [&](Program &p) { change(p.roles[0].body[0]); });
    return text.substr(0, text.find(", which means nothing for it"));
  };
  const auto says = [](std::string_view what) {
    return "t.imx:7: error: 'fence' has " + std::string(what);
  };
  CHECK(unused("fence", [](ScheduleOp &o) { o.accesses = {{.buffer = BufferId(2)}}; }) ==
        says("accesses"));
  CHECK(unused("fence", [](ScheduleOp &o) { o.barrier = BarrierId(0); }) == says("a barrier"));
  CHECK(unused("fence", [](ScheduleOp &o) { o.index.offset = 1; }) == says("an index"));
  CHECK(unused("fence", [](ScheduleOp &o) { o.flipped = true; }) == says("'flipped'"));
  CHECK(unused("fence", [](ScheduleOp &o) { o.count = 2; }) == says("a count"));
  CHECK(unused("fence", [](ScheduleOp &o) { o.bytes = 2; }) == says("bytes"));
  CHECK(unused("fence", [](ScheduleOp &o) { o.queue = QueueId(0); }) == says("a queue"));
  CHECK(unused("fence", [](ScheduleOp &o) { o.meeting = MeetingId(0); }) == says("a meeting"));
  CHECK(unused("fence", [](ScheduleOp &o) { o.cursor = CursorId(0); }) == says("a cursor"));
  CHECK(unused("fence", [](ScheduleOp &o) { o.trips = TripsId(0); }) == says("trips"));
  CHECK(unused("fence", [](ScheduleOp &o) { o.first = 1; }) == says("trips"));
  CHECK(unused("fence", [](ScheduleOp &o) { o.less = 1; }) == says("trips"));
  CHECK(unused("fence", [](ScheduleOp &o) { o.guard.than = 1; }) == says("a condition"));
  CHECK(unused("fence", [](ScheduleOp &o) { o.body = {{.kind = ScheduleOpKind::Fence}}; }) ==
        says("a body"));
  CHECK(unused("access reads %x", [](ScheduleOp &o) { o.accesses[0].number = 1; }) ==
        "t.imx:7: error: 'access' has a part's number");
}

TEST_CASE("a program that no text could have nests no deeper either") {
  CHECK(verdictAfter("", [](Program &p) {
          std::vector<ScheduleOp> body;
          for (std::int32_t i = 0; i < kDeepestBody; ++i) {
            ScheduleOp outer{.kind = ScheduleOpKind::If, .guard = {.trips = TripsId(0)}};
            outer.body = std::move(body);
            body.clear();
            body.push_back(std::move(outer));
          }
          p.roles[0].body = std::move(body);
          ScheduleOp *innermost = &p.roles[0].body[0];
          while (!innermost->body.empty()) innermost = &innermost->body[0];
          innermost->body.push_back({.kind = ScheduleOpKind::Fence});
        }) == "imbrex: error: bodies are nested more than 200 deep\n");
}
