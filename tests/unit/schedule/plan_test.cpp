#include "backend/schedule/check/check.h"
#include "backend/schedule/plan/compute_groups.h"
#include "backend/schedule/plan/plan.h"
#include "backend/schedule/plan/split_roles.h"
#include "backend/schedule/plan/synchronise.h"
#include "backend/schedule/program/program_text.h"
#include "backend/schedule/program/well_formed.h"
#include "tests/unit/schedule/works.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace imbrex;
using namespace imbrex::schedule;
using namespace imbrex::testing;

namespace {

const machine::Machine &machineNamed(std::string_view name) {
  const machine::Machine *machine = machine::findMachine(name);
  REQUIRE(machine);
  return *machine;
}

} // namespace

TEST_CASE("where products run by themselves, they get a role, and results two slots") {
  Diagnostics diagnostics;
  const PlanRequest request = {.machine = machineNamed("sm_100a"),
                               .loop = TripsId(1),
                               .trips = {4, 16},
                               .signals = {true},
                               .warps = 4};
  const auto plan = planSchedule(gemmWork(true), request, diagnostics);
  REQUIRE_MESSAGE(plan, diagnostics.render());
  CHECK(plan->taken().roles == "load | multiply | finish");
  CHECK(plan->taken().outerSlots == 2);
  CHECK(plan->gap() >= 1);
  CHECK(prove(plan->program).isSafe());
}

TEST_CASE(
    "no candidate is better than the one that is taken, and all that fit are slower or larger") {
  Diagnostics diagnostics;
  const PlanRequest request = {
      .machine = machineNamed("sm_90a"), .loop = TripsId(1), .trips = {4, 16}, .signals = {false}};
  const auto plan = planSchedule(gemmWork(false), request, diagnostics);
  REQUIRE_MESSAGE(plan, diagnostics.render());
  CHECK(plan->taken().demand.sharedBytes <= request.machine.sharedMemoryBytes);
  for (const Candidate &other : plan->candidates) {
    if (!other.refused.empty()) continue;
    const double slower = other.interval.cyclesPerTrip - plan->taken().interval.cyclesPerTrip;
    CHECK(slower > -1e-6);
    if (slower < 1e-6) CHECK(other.slots >= plan->taken().slots);
  }
  const std::string why = explain(*plan, request);
  CHECK(why.starts_with("taken: load | compute, 6 slots"));
  CHECK(why.find("takes 233600 bytes of shared memory; a block on sm_90a has 232448") !=
        std::string::npos);
}

TEST_CASE("the author's number of slots is kept, and refused by name where it does not fit") {
  PlanRequest request = {.machine = machineNamed("sm_120a"),
                         .loop = TripsId(1),
                         .trips = {4, 16},
                         .signals = {false},
                         .slots = 2};
  Diagnostics diagnostics;
  const auto plan = planSchedule(gemmWork(false), request, diagnostics);
  REQUIRE_MESSAGE(plan, diagnostics.render());
  CHECK(plan->taken().slots == 2);
  request.slots = 4;
  CHECK_FALSE(planSchedule(gemmWork(false), request, diagnostics));
  CHECK(diagnostics.all().back().kind == Diag::ScheduleNoPlan);
}

TEST_CASE("what the author asked for is not raised: one slot leaves nothing in flight") {
  const PlanRequest request = {.machine = machineNamed("sm_90a"),
                               .loop = TripsId(1),
                               .trips = {4, 16},
                               .signals = {false},
                               .slots = 1};
  Diagnostics diagnostics;
  const auto plan = planSchedule(gemmWork(false), request, diagnostics);
  REQUIRE_MESSAGE(plan, diagnostics.render());
  for (const Candidate &candidate : plan->candidates) {
    CHECK(candidate.slots == 1);
    CHECK(candidate.inFlight == 0);
  }
  CHECK(prove(plan->program).isSafe());
}

TEST_CASE("what no number of slots would mend is told once") {
  Program work = streamWork(true, 1);
  for (ScheduleOp &op : work.roles.front().body)
    if (op.kind == ScheduleOpKind::For) std::ranges::rotate(op.body, op.body.begin() + 2);
  const PlanRequest request = {
      .machine = machineNamed("sm_80"), .loop = TripsId(0), .trips = {16}, .warps = 1};
  Diagnostics diagnostics;
  CHECK_FALSE(planSchedule(work, request, diagnostics));
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all().front().kind == Diag::ScheduleLoadPlace);
}

TEST_CASE("a copy that nobody reads is refused, beside others and where loads run on a queue") {
  const auto why = [](std::string_view body) {
    Diagnostics diagnostics;
    const std::string text = "schedule @p {\n  trips %a\n  buffer %A 16\n  buffer %B 16\n"
                             "  role %all {\n    queue %q\n    for %a {\n" +
                             std::string(body) + "    }\n  }\n}\n";
    const auto work = parse(text, "work.imx", diagnostics);
    REQUIRE_MESSAGE(work, diagnostics.render());
    REQUIRE(verify(*work, diagnostics, Completeness::WithoutBarriers));
    const PlanRequest request = {
        .machine = machineNamed("sm_90a"), .loop = TripsId(0), .trips = {4}, .signals = {false}};
    CHECK_FALSE(planSchedule(*work, request, diagnostics));
    return diagnostics.render();
  };
  const std::string hint = "\n  hint: read what it brings, or leave it out\n";
  CHECK(why("copy writes %B bytes 16\n") == "work.imx:8: error: nobody would wait for the copy "
                                            "into 'B': no operation but copies uses it" +
                                                hint);
  CHECK(why("copy writes %A bytes 16\ncopy writes %B bytes 16\naccess reads %A\n") ==
        "work.imx:9: error: nobody would wait for the copy into 'B': no operation but copies uses "
        "it" +
            hint);
  CHECK(
      why("issue %q writes %A\ncopy writes %B bytes 16\naccess reads %A reads %B\n") ==
      "work.imx:9: error: nobody would wait for the copy into 'B': loads go through the queue 'q', "
      "and no barrier counts its bytes" +
          hint);
}

TEST_CASE("work that runs very often at least is refused and not walked") {
  Diagnostics diagnostics;
  Program work = gemmWork(false);
  work.trips[0].least = 2147483647;
  const PlanRequest request = {
      .machine = machineNamed("sm_90a"), .loop = TripsId(0), .trips = {2147483647, 16}};
  CHECK_FALSE(planSchedule(work, request, diagnostics));
  CHECK(diagnostics.render() ==
        "imbrex: error: schedule 'gemm' is too large to be proven: there are never fewer than "
        "2147483647 trips of 'tiles'\n  hint: say no more than 'least 4096'\n");
}

TEST_CASE("work whose conditions tell very many trips apart is refused and not walked") {
  const auto planned = [](std::int32_t than) {
    Diagnostics diagnostics;
    Program work = gemmWork(false);
    const TripsId tiles(0), k(1);
    std::vector<ScheduleOp> &body = work.roles.front().body.front().body;
    for (const TripsId trips : {tiles, k})
      body.push_back({.kind = ScheduleOpKind::If,
                      .guard = {.measure = Guard::Measure::Count, .trips = trips, .than = than}});
    const PlanRequest request = {.machine = machineNamed("sm_90a"), .loop = k, .trips = {4, 32}};
    return planSchedule(work, request, diagnostics) ? "" : diagnostics.render();
  };
  CHECK(planned(3) == "");
  CHECK(planned(300) ==
        "imbrex: error: schedule 'gemm' is too large to be proven: its conditions tell so many "
        "numbers of trips apart that 2065793401 trips would be walked\n  hint: compare trips with "
        "smaller numbers, most of all those of inner loops\n");
}

TEST_CASE("what keeps one way from being taken is no error where another is") {
  Diagnostics diagnostics;
  const PlanRequest request = {
      .machine = machineNamed("sm_90a"), .loop = TripsId(1), .trips = {4, 16}, .signals = {true}};
  const auto plan = planSchedule(gemmWork(false), request, diagnostics);
  REQUIRE_MESSAGE(plan, diagnostics.render());
  CHECK(diagnostics.all().empty());
  CHECK(std::ranges::any_of(plan->candidates,
                            [](const Candidate &other) { return !other.refused.empty(); }));
}

TEST_CASE("streams get as many slots as hide the latency, and no more") {
  Diagnostics diagnostics;
  const PlanRequest request = {
      .machine = machineNamed("sm_80"), .loop = TripsId(0), .trips = {16}, .warps = 4};
  const auto plan = planSchedule(streamWork(true, 4), request, diagnostics);
  REQUIRE_MESSAGE(plan, diagnostics.render());
  CHECK(plan->taken().slots == 5); // 700 cycles of latency, 230 of a trip
  CHECK(prove(plan->program).isSafe());
}

TEST_CASE("a schedule's demands are held against a block") {
  ScheduleBuilder build("large");
  const RingId ring = build.ring("ring", 4);
  build.buffer({.name = "tile", .ring = ring, .bytes = 65536});
  build.meeting("all", 99, 16);
  build.role("many", 40);
  const Program program = build.take();
  Diagnostics diagnostics;
  CHECK_FALSE(checkBudget(program, machineNamed("sm_90a"), 1, diagnostics));
  std::vector<Diag> found;
  for (const Diagnostic &one : diagnostics.all()) found.push_back(one.kind);
  CHECK(found == std::vector{Diag::MeetingParties, Diag::MeetingNumber, Diag::ScheduleMemory,
                             Diag::ScheduleThreads});
}

TEST_CASE("sums that are stored to shared memory at the end are no loads") {
  ScheduleBuilder build("epilogue");
  const TripsId k = build.trips("k");
  const BufferId tile = build.buffer({.name = "tile", .bytes = 16384});
  const BufferId sum = build.buffer({.name = "sum", .bytes = 256, .space = Space::Registers});
  const BufferId result = build.buffer({.name = "result", .bytes = 16384, .parts = 8});
  auto all = build.role("all", 8);
  const QueueId products = all.queue({.name = "products", .serial = true});
  all.access({write(sum)});
  all.forTrips(k, [&] {
    all.copy({write(tile)}, {}, {}, 16384);
    all.issue(products, {read(tile), read(sum), write(sum)});
  });
  all.access({read(sum), own(write(result))});
  const PlanRequest request = {.machine = machineNamed("sm_90a"), .loop = k, .trips = {16}};
  Diagnostics diagnostics;
  const auto plan = planSchedule(build.take(), request, diagnostics);
  REQUIRE_MESSAGE(plan, diagnostics.render());
  CHECK(plan->taken().roles == "load | compute");
}

TEST_CASE("results in a tensor core's memory are held against what a core has of it") {
  const auto found = [](std::int32_t slots, const char *machine, std::int32_t blocks) {
    ScheduleBuilder build("results");
    const RingId ring = build.ring("ring", slots);
    build.buffer({.name = "sum", .ring = ring, .bytes = 65536, .space = Space::Tensor});
    build.role("all", 4);
    Diagnostics diagnostics;
    const bool fits = checkBudget(build.take(), machineNamed(machine), blocks, diagnostics);
    CHECK(fits == !diagnostics.hasErrors());
    for (const Diagnostic &one : diagnostics.all()) CHECK(one.kind == Diag::ScheduleTensorMemory);
    return !fits;
  };
  CHECK_FALSE(found(4, "sm_100a", 1));
  CHECK(found(5, "sm_100a", 1));
  CHECK_FALSE(found(2, "sm_103a", 2));
  CHECK(found(3, "sm_103a", 2));
  CHECK(found(1, "sm_90a", 1)); // has none
  // So the planner gives results of half of it two slots, and of more one.
  for (const auto &[bytes, slots] : {std::pair(131072, 2), std::pair(131584, 1)}) {
    Program work = gemmWork(true);
    for (Buffer &buffer : work.buffers)
      if (buffer.space == Space::Tensor) buffer.bytes = bytes;
    const PlanRequest request = {.machine = machineNamed("sm_100a"),
                                 .loop = TripsId(1),
                                 .trips = {4, 16},
                                 .signals = {true},
                                 .warps = 4};
    Diagnostics diagnostics;
    const auto plan = planSchedule(work, request, diagnostics);
    REQUIRE_MESSAGE(plan, diagnostics.render());
    CHECK(plan->taken().outerSlots == slots);
  }
}

namespace {

PlanRequest attentionRequest() {
  return {.machine = machineNamed("sm_90a"),
          .loop = TripsId(1),
          .trips = {4, 16},
          .signals = {false},
          .turns = true,
          .registers = true};
}

} // namespace

TEST_CASE("K4: attention is computed by two groups in turns, with the arrivals of the books") {
  Diagnostics diagnostics;
  PlanRequest request = attentionRequest();
  const auto plan = planSchedule(attentionWork(), request, diagnostics);
  REQUIRE_MESSAGE(plan, diagnostics.render());
  CHECK(plan->taken().roles == "load | compute by turns");
  CHECK(arrivalsOf(plan->program, "Q.full") == 1);
  CHECK(bytesOf(plan->program, "K_V.full") == 32768);
  checkFirstParities(plan->program);
  CHECK(arrivalsOf(plan->program, "K_V.full") == 1);
  CHECK(arrivalsOf(plan->program, "K_V.empty") == 8);
  CHECK(arrivalsOf(plan->program, "compute0.turn") == 4);
  CHECK(arrivalsOf(plan->program, "compute1.turn") == 4);
  CHECK(plan->taken().registers == std::vector{24, 240, 240});
  CHECK(verify(plan->program, diagnostics));
  CHECK(prove(plan->program).isSafe());
  CHECK(explain(*plan, request).find(" bytes, 24 | 240 | 240 registers\n") != std::string::npos);
  request.turns = false;
  const auto one = planSchedule(attentionWork(), request, diagnostics);
  REQUIRE(one);
  CHECK(one->taken().interval.cyclesPerTrip > 1.5 * plan->taken().interval.cyclesPerTrip);
}

TEST_CASE("a turn is handed on by all warps of the other group, and one of them has the first") {
  Diagnostics diagnostics;
  const auto plan = planSchedule(attentionWork(), attentionRequest(), diagnostics);
  REQUIRE(plan);
  Program one = plan->program;
  for (Barrier &barrier : one.barriers)
    if (barrier.name == "compute0.turn") barrier.arrivals = 1;
  CHECK_FALSE(prove(one).isSafe());
  Program none = plan->program;
  for (Role &role : none.roles)
    forEachOp(role.body, [&](ScheduleOp &op) {
      if (op.kind == ScheduleOpKind::Wait && none[op.barrier].name == "compute0.turn")
        op.flipped = false;
    });
  const Verdict verdict = prove(none);
  REQUIRE_FALSE(verdict.isSafe());
  CHECK(verdict.findings.front().what.kind == Diag::ScheduleDeadlock);
}

TEST_CASE("groups are made of a role that only reads what others hand it") {
  const auto why = [](Program program, std::uint32_t role) {
    std::string reason;
    CHECK_FALSE(splitInGroups(program, RoleId(role), reason));
    return reason;
  };
  Diagnostics diagnostics;
  const RoleSplit split = {.roles = {{"load"}, {"compute", 8}}, .roleOf = {1, 0, 0, 1, 1, 0, 1}};
  const auto program = splitRoles(gemmWork(false), split, diagnostics);
  REQUIRE(program);
  CHECK(why(*program, 0) == "the groups would both fill what another role reads");
  Program odd = *program;
  odd.roles[1].warps = 5;
  CHECK(why(odd, 1) == "the warps make no two equal groups");
  Program parts = *program;
  parts.roles[1].body.front().body.front().accesses.front().part = Part::Own;
  CHECK(why(parts, 1) == "the warps have parts of their own");
  CHECK(halved({"unit", 128, 128}) == Cost{"unit", 64, 64});
  CHECK(halved({"unit", 700, 65}) == Cost{"unit", 668, 33});
  CHECK(halved({"", 90, 0}) == Cost{"", 90, 0});
}

TEST_CASE("a group that cannot be is refused with the reason, and the rest is planned") {
  PlanRequest request = attentionRequest();
  request.warps = 5;
  Diagnostics diagnostics;
  const auto plan = planSchedule(attentionWork(), request, diagnostics);
  REQUIRE_MESSAGE(plan, diagnostics.render());
  CHECK(plan->taken().roles == "load | compute");
  CHECK(std::ranges::count(plan->candidates, "the warps make no two equal groups",
                           &Candidate::refused) == 2);
}

TEST_CASE("roles of whole groups of warps get the registers that the others give up") {
  const auto registersOf = [](const std::vector<std::int32_t> &warps,
                              const char *machine = "sm_90a") {
    Program program{.name = "roles"};
    for (const std::int32_t of : warps) program.roles.push_back({.name = "r", .warps = of});
    handOverRegisters(program, machineNamed(machine), 1);
    std::vector<std::int32_t> registers;
    for (const Role &role : program.roles) registers.push_back(role.registers);
    return registers;
  };
  CHECK(registersOf({1, 8}) == std::vector{24, 240});
  CHECK(registersOf({1, 1, 4, 4}) == std::vector{24, 24, 240, 240});
  CHECK(registersOf({1, 12}) == std::vector{32, 160});
  CHECK(registersOf({8}) == std::vector{0});       // nobody gives any up
  CHECK(registersOf({1, 2}) == std::vector{0, 0}); // nobody can take them
  CHECK(registersOf({1, 8}, "sm_80") == std::vector{0, 0});
}

TEST_CASE("a plan far above its bound is told in times, and one near it in per cent") {
  Diagnostics diagnostics;
  const PlanRequest request = {
      .machine = machineNamed("sm_90a"), .loop = TripsId(1), .trips = {4, 16}, .signals = {false}};
  auto plan = planSchedule(gemmWork(false), request, diagnostics);
  REQUIRE_MESSAGE(plan, diagnostics.render());
  schedule::Interval &interval = plan->candidates[plan->chosen].interval;
  const auto ofBound = [&](double cycles) {
    interval.lowerBound = 100;
    interval.cyclesPerTrip = cycles;
    const std::string text = explain(*plan, request);
    const std::size_t from = text.find("; ", text.find("bound: ")) + 2;
    return text.substr(from, text.find('\n', from) - from);
  };
  CHECK(ofBound(100) == "100 % of it are taken");
  CHECK(ofBound(199.9) == "199.9 % of it are taken");
  CHECK(ofBound(200) == "taken are 2 times the bound");
  CHECK(ofBound(1520) == "taken are 15.2 times the bound");
}
