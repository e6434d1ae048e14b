#include "backend/schedule/program/attributes.h"
#include "backend/schedule/program/program_text.h"
#include "backend/schedule/program/well_formed.h"
#include "tests/support/random_schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <tuple>

using namespace imbrex;
using namespace imbrex::schedule;

namespace {

std::string reprinted(std::string_view text) {
  Diagnostics diagnostics;
  const auto program = parse(text, "test.imx", diagnostics);
  return program ? print(*program) : diagnostics.render();
}

/// What the parser says of a text that is no schedule.
std::string errors(std::string_view text) {
  Diagnostics diagnostics;
  CHECK(!parse(text, "t.imx", diagnostics));
  return diagnostics.render();
}

/// Of operations in a role that has a name of each kind.
std::string errorsOf(std::string_view ops) {
  return errors("schedule @s { trips %k ring %AB depth 2 { buffer %A 64 parts 4 barrier %full } "
                "meeting %all\n role %r { cursor %c in %AB queue %q\n" +
                std::string(ops) + "\n}}");
}

// --- whether two programs say the same, whatever the lines ---

bool same(const std::vector<ScheduleOp> &a, const std::vector<ScheduleOp> &b);

bool same(const ScheduleOp &a, const ScheduleOp &b) {
  const auto members = [](const ScheduleOp &op) {
    return std::tie(op.kind, op.accesses, op.barrier, op.index, op.flipped, op.count, op.bytes,
                    op.queue, op.meeting, op.cursor, op.trips, op.first, op.less, op.guard,
                    op.cost);
  };
  return members(a) == members(b) && same(a.body, b.body);
}

auto members(const Trips &trips) { return std::tie(trips.name, trips.within, trips.least); }
auto members(const Ring &ring) { return std::tie(ring.name, ring.depth); }
auto members(const Buffer &b) {
  return std::tie(b.name, b.ring, b.bytes, b.parts, b.space, b.offset);
}
auto members(const Barrier &barrier) {
  return std::tie(barrier.name, barrier.ring, barrier.arrivals);
}
auto members(const Meeting &m) { return std::tie(m.name, m.parties, m.number); }
auto members(const Cursor &c) { return std::tie(c.name, c.role, c.ring); }
auto members(const Queue &q) {
  return std::tie(q.name, q.role, q.serial, q.grouped, q.async, q.capacity);
}
auto members(const Role &role) { return std::tie(role.name, role.warps, role.registers); }

template <class T>
bool sameAll(const std::vector<T> &a, const std::vector<T> &b) {
  return std::ranges::equal(a, b, [](const T &x, const T &y) { return members(x) == members(y); });
}

bool same(const std::vector<ScheduleOp> &a, const std::vector<ScheduleOp> &b) {
  return std::ranges::equal(a, b,
                            [](const ScheduleOp &x, const ScheduleOp &y) { return same(x, y); });
}

bool same(const Program &a, const Program &b) {
  return a.name == b.name && sameAll(a.trips, b.trips) && sameAll(a.rings, b.rings) &&
         sameAll(a.buffers, b.buffers) && sameAll(a.barriers, b.barriers) &&
         sameAll(a.meetings, b.meetings) && sameAll(a.roles, b.roles) &&
         sameAll(a.cursors, b.cursors) && sameAll(a.queues, b.queues) &&
         std::ranges::equal(a.roles, b.roles,
                            [](const Role &x, const Role &y) { return same(x.body, y.body); });
}

void collectKinds(const std::vector<ScheduleOp> &body, std::set<ScheduleOpKind> &kinds) {
  for (const ScheduleOp &op : body) {
    kinds.insert(op.kind);
    collectKinds(op.body, kinds);
  }
}

constexpr std::string_view kEverything = R"(schedule @everything {
  trips %tiles
  trips %k in %tiles least 2
  ring %AB depth 4 {
    buffer %A 16384 parts 8
    buffer %B 16384 at 65536
    barrier %AB.full
    barrier %AB.empty arrivals 8
  }
  ring %bare {
  }
  buffer %sum 65536 tensor parts 8
  buffer %own 128 registers
  barrier %ready
  meeting %all parties 9 number 1
  meeting %some
  role %load registers 40 {
    cursor %p in %AB
    init %AB.full
    init %ready
    for %tiles {
      if count %k > 0 {
        for %k from 1 less 2 {
          wait %AB.empty(%p) flipped
          expect %AB.full(%p) count 0 bytes 32768
          copy writes %A(%p), %B(%p, 1) to %AB.full(%p) bytes 32768
          advance %p
        }
      }
      reset %p
    }
    meet %all
  }
  role %compute warps 8 {
    cursor %p in %AB
    queue %q serial grouped async capacity 3
    queue %store
    for %tiles {
      for %k {
        wait %AB.full(%p) takes 20
        if done %k > 1 {
          issue %q reads %A(%p, -1, part 1), %B(%p, -1) writes %sum(part 3) reads %sum takes 128 on tensor busy 120
        }
        if left %k > 2 {
          arrive %AB.empty(%p, -1) count 2
        }
        commit %q
        drain %q to 1
        signal %AB.empty(%p) after %q count 4
        advance %p
      }
      drain %q
      fence
      access
      access writes %own, %A(%p, own) takes 9 on "odd name"
      issue %store reads %sum(own) count 4
      copy to %ready bytes 16
      copy writes %sum bytes 16
    }
    meet %all
  }
}
)";

} // namespace

TEST_CASE("a schedule with everything prints as it is written") {
  CHECK(reprinted(kEverything) == kEverything);
}

TEST_CASE("a schedule with everything is well formed") {
  Diagnostics diagnostics;
  const auto program = parse(kEverything, "test.imx", diagnostics);
  REQUIRE(program);
  CHECK_MESSAGE(verify(*program, diagnostics, Completeness::WithoutBarriers), diagnostics.render());
}

TEST_CASE("each word of a schedule's text says one thing") {
  Diagnostics diagnostics;
  const auto program = parse(kEverything, "test.imx", diagnostics);
  REQUIRE(program);
  const Program &p = *program;
  CHECK(p.name == "everything");
  CHECK(members(p.trips[1]) == members({.name = "k", .within = TripsId(0), .least = 2}));
  CHECK(members(p.rings[0]) == members({.name = "AB", .depth = 4}));
  CHECK(members(p.buffers[0]) ==
        members({.name = "A", .ring = RingId(0), .bytes = 16384, .parts = 8}));
  CHECK(p.buffers[1].offset == 65536);
  CHECK(p.buffers[2].space == Space::Tensor);
  CHECK(p.buffers[3].space == Space::Registers);
  CHECK(!p.buffers[3].ring.valid());
  CHECK(members(p.barriers[1]) == members({.name = "AB.empty", .ring = RingId(0), .arrivals = 8}));
  CHECK(members(p.meetings[0]) == members({.name = "all", .parties = 9, .number = 1}));
  CHECK(members(p.roles[0]) == members({.name = "load", .warps = 1, .registers = 40, .body = {}}));
  CHECK(members(p.cursors[1]) == members({.name = "p", .role = RoleId(1), .ring = RingId(0)}));
  CHECK(members(p.queues[0]) == members({.name = "q",
                                         .role = RoleId(1),
                                         .serial = true,
                                         .grouped = true,
                                         .async = true,
                                         .capacity = 3}));
  CHECK(members(p.queues[1]) == members(Queue{.name = "store", .role = RoleId(1)}));

  const ScheduleOp &outer = p.roles[0].body[2].body[0];
  CHECK(outer.guard == Guard{.measure = Guard::Measure::Count, .trips = TripsId(1), .than = 0});
  const ScheduleOp &loop = outer.body[0];
  CHECK(std::tuple(loop.trips, loop.first, loop.less) == std::tuple(TripsId(1), 1, 2));
  CHECK(loop.body[0].flipped);
  CHECK(std::tuple(loop.body[1].count, loop.body[1].bytes) == std::tuple(0, 32768));
  CHECK(loop.body[2].accesses[1] == Access{.buffer = BufferId(1),
                                           .index = {.cursor = CursorId(0), .offset = 1},
                                           .writes = true});
  CHECK(loop.body[2].index == Index{.cursor = CursorId(0)});

  const std::vector<ScheduleOp> &inner = p.roles[1].body[0].body[0].body;
  CHECK(!inner[0].flipped);
  CHECK(inner[0].cost == Cost{.resource = "", .cycles = 20, .busy = 0});
  CHECK(inner[1].guard.measure == Guard::Measure::Done);
  const ScheduleOp &issue = inner[1].body[0];
  CHECK(issue.queue == QueueId(0));
  CHECK(issue.accesses ==
        std::vector<Access>{
            {.buffer = BufferId(0),
             .index = {.cursor = CursorId(1), .offset = -1},
             .part = Part::Numbered,
             .number = 1},
            {.buffer = BufferId(1), .index = {.cursor = CursorId(1), .offset = -1}},
            {.buffer = BufferId(2), .writes = true, .part = Part::Numbered, .number = 3},
            {.buffer = BufferId(2)}});
  CHECK(issue.cost == Cost{.resource = "tensor", .cycles = 128, .busy = 120});
  CHECK(inner[2].guard.measure == Guard::Measure::Left);
  CHECK(inner[2].body[0].count == 2);
  CHECK(inner[4].count == 1);
  CHECK(std::tuple(inner[5].barrier, inner[5].queue, inner[5].count) ==
        std::tuple(BarrierId(1), QueueId(0), 4));
  const std::vector<ScheduleOp> &behind = p.roles[1].body[0].body;
  CHECK(behind[1].count == 0);
  CHECK(behind[4].accesses[1].part == Part::Own);
}

TEST_CASE("an operation gets its line of the file as its place") {
  Diagnostics diagnostics;
  const auto program =
      parse("schedule @s {\nrole %r {\n\n# a note\nfence fence\nfence } }", "x.imx", diagnostics);
  REQUIRE(program);
  CHECK(toText(program->roles[0].body[0].where) == "x.imx:5");
  CHECK(toText(program->roles[0].body[1].where) == "x.imx:5");
  CHECK(toText(program->roles[0].body[2].where) == "x.imx:6");
}

TEST_CASE("attributes stand in any order, and those with their default may be written") {
  CHECK(reprinted("schedule @\"a b\" { buffer %x 64 shared at 0 parts 1\n"
                  "role %r registers 0 warps 1 { queue %q capacity 63 async serial } }") ==
        R"(schedule @"a b" {
  buffer %x 64 at 0
  role %r {
    queue %q serial async
  }
}
)");
}

TEST_CASE("what is printed parses to what says the same") {
  std::set<ScheduleOpKind> kinds;
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const Program program = testing::randomSchedule(seed);
    for (const Role &role : program.roles) collectKinds(role.body, kinds);
    const std::string text = print(program);
    Diagnostics diagnostics;
    CHECK_MESSAGE(verify(program, diagnostics), diagnostics.render(), text);
    const auto again = parse(text, "random.imx", diagnostics);
    REQUIRE_MESSAGE(again, diagnostics.render(), text);
    CHECK_MESSAGE(same(program, *again), text);
    CHECK(print(*again) == text);
  }
  CHECK(kinds.size() == kOps.size());
}

TEST_CASE("a text that is cut off anywhere is an error") {
  const std::string text(kEverything);
  for (std::size_t end = 0; end + 2 < text.size(); ++end) {
    Diagnostics diagnostics;
    CHECK(!parse(text.substr(0, end), "t.imx", diagnostics));
    CHECK(diagnostics.hasErrors());
  }
}

TEST_CASE("what lies in a ring is printed with the ring, and what is a role's with the role") {
  const Program program{
      .name = "s",
      .rings = {{.name = "x"}, {.name = "y"}},
      .buffers = {{.name = "n", .bytes = 1},
                  {.name = "b", .ring = RingId(1), .bytes = 2},
                  {.name = "a", .ring = RingId(0), .bytes = 3}},
      .barriers = {{.name = "f", .ring = RingId(1)}, {.name = "e", .ring = RingId(0)}},
      .roles = {{.name = "r"}, {.name = "t"}},
      .cursors = {{.name = "d", .role = RoleId(1), .ring = RingId(0)},
                  {.name = "c", .role = RoleId(0), .ring = RingId(1)}},
      .queues = {{.name = "q", .role = RoleId(1)}}};
  const std::string text = R"(schedule @s {
  ring %x {
    buffer %a 3
    barrier %e
  }
  ring %y {
    buffer %b 2
    barrier %f
  }
  buffer %n 1
  role %r {
    cursor %c in %y
  }
  role %t {
    cursor %d in %x
    queue %q
  }
}
)";
  CHECK(print(program) == text);
  CHECK(reprinted(text) == text);
}

TEST_CASE("what is not well formed is printed too") {
  const Program program{
      .name = "",
      .trips = {{.name = "a b", .within = TripsId(7)}},
      .roles = {{.name = "r",
                 .body = {{.kind = ScheduleOpKind::Wait},
                          {.kind = ScheduleOpKind::Access,
                           .accesses = {{.buffer = BufferId(3), .index = {.offset = 2}}}},
                          {.kind = ScheduleOpKind::Signal},
                          {.kind = ScheduleOpKind::Advance},
                          {.kind = ScheduleOpKind::Meet},
                          {.kind = ScheduleOpKind::If},
                          {.kind = ScheduleOpKind::For}}}}};
  CHECK(print(program) == R"(schedule @"" {
  trips %"a b" in %?
  role %r {
    wait %?
    access reads %?(2)
    signal %? after %?
    advance %?
    meet %?
    if count %? > 0 {
    }
    for %? {
    }
  }
}
)");
}

TEST_CASE("a name that nothing has is an error, once, with one like it") {
  CHECK(errorsOf("wait %fulll(%c)\nwait %fulll(%c)\nmeet %x") ==
        "t.imx:3: error: there is no barrier '%fulll' here\n"
        "  hint: did you mean 'full'?\n"
        "t.imx:5: error: there is no meeting '%x' here\n"
        "  hint: it is declared above its use\n");
  CHECK(errorsOf("meet %barrier1\nmeet %barrier2") ==
        "t.imx:3: error: there is no meeting '%barrier1' here\n"
        "  hint: it is declared above its use\n"
        "t.imx:4: error: there is no meeting '%barrier2' here\n"
        "  hint: it is declared above its use\n");
}

TEST_CASE("a role sees its own cursors and queues alone") {
  CHECK(errors("schedule @s { ring %x { } role %a { cursor %c in %x queue %q }\n"
               "role %b { advance %c\n commit %q } }") ==
        "t.imx:2: error: there is no cursor '%c' here\n"
        "  hint: it is declared above its use\n"
        "t.imx:3: error: there is no queue '%q' here\n"
        "  hint: it is declared above its use\n");
}

TEST_CASE("a name that is no word, or that there is already, is an error") {
  CHECK(errors("schedule @s { trips %0 ring %\"a b\" { }\nmeeting %m trips %m\nmeeting %m }") ==
        "t.imx:1: error: '%0' is no name for a count of trips\n"
        "  hint: a name is a word of letters, digits, '_' and '.', from a letter on\n"
        "t.imx:1: error: '%\\\"a b\\\"' is no name for a ring\n"
        "  hint: a name is a word of letters, digits, '_' and '.', from a letter on\n"
        "t.imx:3: error: there are two meetings with the name '%m'\n"
        "  hint: the first one is on line 2\n");
}

TEST_CASE("a number that something cannot be is an error") {
  CHECK(errors("schedule @s { ring %x depth 0 { buffer %A 2.5\nbuffer %B 99999999999999999999 }\n"
               "role %r warps 2x3 { cursor %c in %x drain %q to -1 } }") ==
        "t.imx:1: error: 'depth' of ring 'x' cannot be '0'\n"
        "  hint: it is a number from 1 to 65536\n"
        "t.imx:1: error: 'bytes' of buffer 'A' cannot be '2.5'\n"
        "  hint: it is a number from 1 to 2147483647\n"
        "t.imx:2: error: 'bytes' of buffer 'B' cannot be '99999999999999999999'\n"
        "  hint: it is a number from 1 to 2147483647\n"
        "t.imx:3: error: 'warps' of role 'r' cannot be '2x3'\n"
        "  hint: it is a number from 1 to 1024\n"
        "t.imx:3: error: there is no queue '%q' here\n"
        "  hint: it is declared above its use\n"
        "t.imx:3: error: 'to' of 'drain' cannot be '-1'\n"
        "  hint: it is a number from 0 to 2147483647\n");
  CHECK(errorsOf("drain %q to 99999999999999999999") ==
        "t.imx:3: error: 'to' of 'drain' cannot be '99999999999999999999'\n"
        "  hint: it is a number from 0 to 2147483647\n");
  CHECK(
      errorsOf(
          "wait %full(%c, 3000000000)\naccess reads %A(%c, part -1)\nif count %k > 3000000000 { }\n"
          "fence takes -1\nfence takes 1 on x busy -1") ==
      "t.imx:3: error: 'offset' of an index cannot be '3000000000'\n"
      "  hint: it is a number from -2147483648 to 2147483647\n"
      "t.imx:4: error: 'part' of a buffer cannot be '-1'\n"
      "  hint: it is a number from 0 to 2147483647\n"
      "t.imx:5: error: 'than' of a condition cannot be '3000000000'\n"
      "  hint: it is a number from -2147483648 to 2147483647\n"
      "t.imx:6: error: 'takes' of 'fence' cannot be '-1'\n"
      "  hint: it is a number from 0 to 2147483647\n"
      "t.imx:7: error: 'busy' of 'fence' cannot be '-1'\n"
      "  hint: it is a number from 0 to 2147483647\n");
}

TEST_CASE("an attribute that is given twice is an error") {
  CHECK(errorsOf("arrive %full(%c) count 1\n count 1\nwait %full(%c) flipped flipped") ==
        "t.imx:4: error: the attribute 'count' is given twice\n"
        "t.imx:5: error: the attribute 'flipped' is given twice\n");
}

TEST_CASE("what is out of place ends the parse") {
  CHECK(errors("kernel @s") ==
        "t.imx:1: error: this is a kernel, not a schedule\n"
        "  hint: a kernel's loops are scheduled and proven when it is compiled; "
        "`imbrex opt --explain` tells how\n");
  CHECK(errors("schedule @s { } }") == "t.imx:1: error: expected the end of the file, not '}'\n");
  CHECK(errors("schedule @s {\n") == "t.imx:2: error: the file ends where 'trips', 'ring', "
                                     "'buffer', 'barrier', 'meeting', 'role' or '}' is expected\n");
  CHECK(errors("schedule @\"s {\n") ==
        "t.imx:1: error: the quote that begins here is not closed on this line\n");
  CHECK(errors("schedule @\"\\q\" {\n") ==
        "t.imx:1: error: there is an escape in this text that does not exist\n"
        "  hint: the escapes are \\\", \\\\, \\n and \\x with two hexadecimal digits\n");
  CHECK(errors("schedule @s { ring %x dept 4 { } }") ==
        "t.imx:1: error: expected 'depth' or '{', not 'dept'\n");
  CHECK(errors("schedule @s { ring %x { meeting %m } }") ==
        "t.imx:1: error: expected 'buffer', 'barrier' or '}', not 'meeting'\n");
  CHECK(errors("schedule @s { trips %k in 5 }") ==
        "t.imx:1: error: expected a name, such as %a, not '5'\n");
  CHECK(errors("schedule @s { buffer %A }") == "t.imx:1: error: expected a number, not '}'\n");
  CHECK(errors("schedule @s { role %r { cursor %c } }") ==
        "t.imx:1: error: expected 'in', not '}'\n");
  CHECK(errorsOf("wait full") == "t.imx:3: error: expected a name, such as %a, not 'full'\n");
  CHECK(errorsOf("wait %full()") == "t.imx:3: error: expected a cursor, not ')'\n");
  CHECK(errorsOf("wait %full(%c,)") == "t.imx:3: error: expected an offset, not ')'\n");
  CHECK(errorsOf("wait %full(%c, own)") == "t.imx:3: error: expected an offset, not 'own'\n");
  CHECK(errorsOf("wait %full(%c, 1, own)") == "t.imx:3: error: expected ')', not ','\n");
  CHECK(errorsOf("access reads %A()") ==
        "t.imx:3: error: expected a cursor, an offset, 'part' or 'own', not ')'\n");
  CHECK(errorsOf("access reads %A(%c, own, 1)") == "t.imx:3: error: expected ')', not ','\n");
  CHECK(errorsOf("signal %full(%c) %q") == "t.imx:3: error: expected 'after', not '%q'\n");
  CHECK(errorsOf("copy writes %A(%c) %full") ==
        "t.imx:3: error: expected an op or '}', not '%full'\n");
  CHECK(errorsOf("if some %k > 0 { }") ==
        "t.imx:3: error: expected 'count', 'done' or 'left', not 'some'\n");
  CHECK(errorsOf("if count %k < 0 { }") == "t.imx:3: error: expected '>', not '<'\n");
  CHECK(errorsOf("for %k form 1 { }") ==
        "t.imx:3: error: expected 'from', 'less' or '{', not 'form'\n");
  CHECK(errorsOf("if count %k > 0 from 1 { }") == "t.imx:3: error: expected '{', not 'from'\n");
  CHECK(errorsOf("fence takes 4 on 5") == "t.imx:3: error: expected a resource, not '5'\n");
  CHECK(errorsOf("%c") == "t.imx:3: error: expected an op or '}', not '%c'\n");
}

TEST_CASE("an op that does not exist is an error, with one like it") {
  CHECK(errorsOf("wiat %full(%c)") == "t.imx:3: error: there is no op 'wiat'\n"
                                      "  hint: did you mean 'wait'?\n");
  CHECK(errorsOf("multiply") == "t.imx:3: error: there is no op 'multiply'\n"
                                "  hint: docs/schedule-text.md lists the ops\n");
  CHECK(errorsOf("fence cursor %d in %AB") ==
        "t.imx:3: error: there is no op 'cursor'\n"
        "  hint: cursors and queues are declared where a role begins\n");
}

TEST_CASE("bodies nest so deep and no deeper") {
  const auto nested = [](std::int32_t bodies) {
    std::string text = "schedule @s { trips %k role %r {";
    for (std::int32_t i = 1; i < bodies; ++i) text += " if count %k > 0 {";
    return text + std::string(static_cast<std::size_t>(bodies + 1), '}');
  };
  Diagnostics diagnostics;
  const auto deepest = parse(nested(kDeepestBody), "t.imx", diagnostics);
  REQUIRE_MESSAGE(deepest, diagnostics.render());
  CHECK(verify(*deepest, diagnostics));
  CHECK(errors(nested(kDeepestBody + 1)) ==
        "t.imx:1: error: bodies are nested more than 200 deep\n");
  CHECK(errors(nested(100000)) == "t.imx:1: error: bodies are nested more than 200 deep\n");
}
