#include "backend/schedule/timeline/simulation.h"
#include "backend/schedule/timeline/timeline.h"
#include "tests/support/schedules.h"
#include "tests/unit/schedule/timed_programs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

using namespace imbrex;
using namespace imbrex::schedule;
using namespace imbrex::testing;

namespace {

/// " copy 0-10 on bus", " wait 0-10".
std::string textOf(const Timeline &timeline, const TimelineSpan &span) {
  const bool isBlocked = span.kind == TimelineSpan::Kind::Wait && span.resource != kNoResource;
  std::string text = isBlocked ? " blocked " : " ";
  text += std::string(info(span.op->kind).mnemonic) + " " + std::to_string(span.start) + "-" +
          std::to_string(span.end);
  if (span.resource == kNoResource) return text;
  return text + " on " + timeline.resources[static_cast<std::size_t>(span.resource)].name;
}

/// A line for each role, with the spans that take time.
std::string busySpans(const Program &program, const Timeline &timeline) {
  std::string text;
  for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
    text += program.roles[role].name + ":";
    for (const TimelineSpan &span : timeline.spans)
      if (span.role == RoleId(role) && span.cycles() > 0) text += textOf(timeline, span) + ",";
    text.back() = '\n';
  }
  return text;
}

std::string busySpans(const std::string &body, const std::vector<std::int32_t> &trips = {}) {
  const Program program = parsed(body);
  return busySpans(program, timed(program, trips));
}

} // namespace

TEST_CASE("a role does one thing after the other") {
  const Program program = parsed("role %a { access takes 5 access access takes 7 }\n");
  const Timeline timeline = timed(program);
  CHECK(timeline.cycles == 12);
  CHECK(busySpans(program, timeline) == "a: access 0-5, access 5-12\n");
  CHECK(timeline.spans[1].cycles() == 0);
}

TEST_CASE("a copy goes on by itself, and who waits for it goes on when it has landed") {
  const char *body = R"(
    buffer %A 64
    barrier %full
    role %load {
      expect %full bytes 64
      copy writes %A to %full bytes 64 takes 10
      access takes 2
    }
    role %compute { wait %full access reads %A takes 3 })";
  const Program program = parsed(body);
  const Timeline timeline = timed(program);
  CHECK(timeline.cycles == 13);
  CHECK(busySpans(program, timeline) == "load: copy 0-10, access 0-2\n"
                                        "compute: wait 0-10, access 10-13\n");
  const auto wait =
      std::ranges::find(timeline.spans, TimelineSpan::Kind::Wait, &TimelineSpan::kind);
  CHECK(timeline.spans[static_cast<std::size_t>(wait->cause)].op->kind == ScheduleOpKind::Copy);
}

TEST_CASE("a resource serves in the order of asking, and is free before what it serves is done") {
  CHECK(busySpans(R"(
    buffer %A 64
    buffer %B 64
    barrier %full
    role %load {
      expect %full bytes 128
      copy writes %A to %full bytes 64 takes 10 on bus busy 4
      copy writes %B to %full bytes 64 takes 10 on bus busy 4
    }
    role %other { access takes 1 access takes 3 on bus busy 3 }
    role %compute { wait %full })") ==
        "load: copy 0-10 on bus, copy 4-14 on bus\n"
        "other: access 0-1, blocked access 1-8 on bus, access 8-11 on bus\n"
        "compute: wait 0-14\n");
}

TEST_CASE("of two roles that ask in the same cycle, the first one is served") {
  CHECK(busySpans("role %a { access takes 4 on alu busy 3 }\n"
                  "role %b { access takes 4 on alu busy 3 }\n") ==
        "a: access 0-4 on alu\n"
        "b: blocked access 0-3 on alu, access 3-7 on alu\n");
}

TEST_CASE("operations of a queue end in order; those of a serial one start so as well") {
  CHECK(
      busySpans("role %a { queue %q issue %q takes 9 issue %q takes 2 drain %q to 1 drain %q }") ==
      "a: issue 0-9, issue 0-9, drain 0-9\n");
  CHECK(busySpans("role %a { queue %q serial issue %q takes 9 issue %q takes 2 "
                  "drain %q to 1 drain %q }") ==
        "a: issue 0-9, issue 9-11, drain 0-9, drain 9-11\n");
}

TEST_CASE("the next of a serial queue asks for its resource when the one before has ended") {
  CHECK(busySpans("role %a { queue %q serial issue %q takes 9 on alu busy 2 "
                  "issue %q takes 9 on alu busy 2 drain %q }\n"
                  "role %b { access takes 4 access takes 3 on alu busy 3 }\n") ==
        "a: issue 0-9 on alu, issue 9-18 on alu, drain 0-18\n"
        "b: access 0-4, access 4-7 on alu\n");
}

TEST_CASE("a drain waits for groups, and an operation of several entries is done at once") {
  CHECK(busySpans("role %a { queue %q grouped\n"
                  "  issue %q takes 3 issue %q takes 5 commit %q issue %q takes 8 commit %q\n"
                  "  drain %q to 1 access takes 1 drain %q }") ==
        "a: issue 0-3, issue 0-5, issue 0-8, drain 0-5, access 5-6, drain 6-8\n");
  CHECK(busySpans("role %a { queue %q issue %q count 4 takes 6 drain %q to 4 access takes 1\n"
                  "  drain %q to 3 access takes 1 drain %q }") ==
        "a: issue 0-6, access 0-1, drain 1-6, access 6-7\n");
}

TEST_CASE("a signal arrives when the queue is done with all that it had then") {
  CHECK(busySpans(R"(
    barrier %done
    role %a {
      queue %q serial
      issue %q takes 4
      issue %q takes 4
      signal %done after %q
      issue %q takes 4
      drain %q
    }
    role %b { wait %done access takes 1 })") == "a: issue 0-4, issue 4-8, issue 8-12, drain 0-12\n"
                                                "b: wait 0-8, access 8-9\n");
  CHECK(busySpans("barrier %done\n"
                  "role %a { queue %q issue %q takes 4 drain %q signal %done after %q }\n"
                  "role %b { wait %done access takes 1 }\n") == "a: issue 0-4, drain 0-4\n"
                                                                "b: wait 0-4, access 4-5\n");
}

TEST_CASE("who meets goes on when the last one is there") {
  CHECK(busySpans("meeting %all parties 4\n"
                  "role %a warps 3 { access takes 2 meet %all access takes 1 meet %all }\n"
                  "role %b { access takes 5 meet %all access takes 4 meet %all }\n") ==
        "a: access 0-2, meet 2-5, access 5-6, meet 6-9\n"
        "b: access 0-5, access 5-9\n");
}

TEST_CASE("all the warps of a role arrive, expect and copy") {
  CHECK(busySpans(R"(
    buffer %A 64 parts 4
    barrier %full arrivals 4
    barrier %read arrivals 8
    role %load warps 4 {
      expect %full bytes 16
      copy writes %A(own) to %full bytes 16 takes 10
      wait %read
    }
    role %compute warps 2 {
      wait %full
      access reads %A takes 3
      arrive %read count 4
    })") == "load: copy 0-10, wait 0-13\n"
            "compute: wait 0-10, access 10-13\n");
}

TEST_CASE("any operation can keep its role busy, after its condition and before its effect") {
  CHECK(busySpans(R"(
    barrier %go
    trips %k
    role %a {
      arrive %go takes 2
      for %k takes 3 { if done %k > 0 takes 10 { fence takes 1 } }
    }
    role %b { wait %go takes 4 on alu busy 4 })",
                  {2}) == "a: arrive 0-2, for 2-5, for 5-8, if 8-18, fence 18-19\n"
                          "b: wait 0-2, wait 2-6 on alu\n");
}

TEST_CASE("two slots hide part of a load: a pipeline by hand") {
  const Program program = pipelined({});
  const Timeline timeline = timed(program, {1, 3});
  CHECK(busySpans(program, timeline) ==
        "load: copy 0-50 on bus, copy 10-60 on bus, wait 0-80, copy 80-130 on bus\n"
        "compute: wait 0-50, issue 50-80 on alu, drain 50-80, issue 80-110 on alu, drain 80-110, "
        "wait 110-130, issue 130-160 on alu, drain 130-160\n");
  CHECK(timeline.cycles == 160);
  CHECK(timeline.resources[0].busy == 30);
  CHECK(timeline.resources[1].busy == 90);
  CHECK(timeline.resources[1].share == doctest::Approx(90.0 / 160));
}

TEST_CASE("the resource that is always busy binds; else a cycle of operations does") {
  const Program bound = pipelined({.depth = 4, .loadCycles = 50});
  const Timeline busy = timed(bound, {1, 40});
  REQUIRE(busy.binding != kNoResource);
  CHECK(busy.resources[static_cast<std::size_t>(busy.binding)].name == "alu");
  CHECK(busy.resources[1].steadyShare == 1.0);
  CHECK(busy.resources[0].steadyShare == doctest::Approx(1.0 / 3).epsilon(0.05));

  const Program waiting = pipelined({.depth = 2, .loadCycles = 100});
  const Timeline gaps = timed(waiting, {1, 40});
  CHECK(gaps.binding == kNoResource);
  CHECK(cyclesOf(gaps.critical) == 130); // for two trips
  std::string path;
  for (const CriticalStep &step : gaps.critical)
    if (step.kind != TimelineSpan::Kind::Instant)
      path += std::string(info(step.op->kind).mnemonic) + " " + std::to_string(step.cycles) + "\n";
  CHECK(path == "copy 100\nwait 0\nissue 30\ndrain 0\nwait 0\n");
}

TEST_CASE("a resource with short gaps binds nothing") {
  const Program program = pipelined({.loadCycles = 100, .compute = 80});
  const Timeline timeline = timed(program, {1, 40});
  CHECK(timeline.resources[1].steadyShare == doctest::Approx(80.0 / 90).epsilon(0.02));
  CHECK(timeline.binding == kNoResource);
}

TEST_CASE("what is held up in its queue is not what the cycle is made of") {
  const Program program = parsed("trips %k role %a { queue %q for %k {\n"
                                 "  issue %q takes 90 issue %q takes 2 drain %q } }\n");
  const Timeline timeline = timed(program, {20});
  CHECK(cyclesOf(timeline.critical) == 90);
  for (const CriticalStep &step : timeline.critical)
    if (step.cycles > 0) CHECK(step.op->cost.cycles == 90);
}

TEST_CASE("the critical cycle of a loop has the cycles of as many trips as it spans") {
  for (std::int32_t depth = 1; depth <= 5; ++depth)
    for (const std::int32_t count : {7, 8, 9, 12, 16, 20, 56, 57, 58, 59, 60, 61}) {
      const std::int32_t load = 50 * (count % 3 + 1);
      CAPTURE(depth);
      CAPTURE(count);
      const Program program = pipelined({.depth = depth, .loadCycles = load});
      const Timeline timeline = timed(program, {1, count});
      // Of a run of few trips the loop says what it is, once it is in its stride.
      if (timeline.critical.empty() && timeline.binding != kNoResource) continue;
      REQUIRE((timeline.critical.empty() == timeline.inLoop.has_value()));
      const std::vector<CriticalStep> &cycle =
          timeline.inLoop ? timeline.inLoop->interval.critical : timeline.critical;
      REQUIRE_FALSE(cycle.empty());
      CHECK(cycle.front().cycles > 0);
      const double trips = static_cast<double>(cyclesOf(cycle)) / intervalOf(program).cyclesPerTrip;
      CHECK(trips == doctest::Approx(std::round(trips)));
      CHECK(trips >= 1);
    }
}

namespace {

/// Whether the cause of a span's beginning is over just then, and that of a wait's end.
bool isCaused(const Timeline &timeline, const TimelineSpan &span) {
  const bool waits = span.kind == TimelineSpan::Kind::Wait && span.cycles() > 0;
  const bool isLate =
      span.kind == TimelineSpan::Kind::Flight && span.cycles() > span.op->cost.cycles;
  const std::int64_t time = waits || isLate ? span.end : span.start;
  if (span.cause == kNoSpan) return time == 0;
  const TimelineSpan &cause = timeline.spans[static_cast<std::size_t>(span.cause)];
  const bool byResource = cause.resource != kNoResource && cause.resource == span.resource &&
                          cause.start + cause.op->cost.busy == time;
  return cause.kind != TimelineSpan::Kind::Wait && byResource ? true : cause.end == time;
}

/// A role is in one place at a time, a resource serves one at a time, and all has its reason.
void checkTimeline(const Program &program, const Timeline &timeline) {
  std::vector<std::int64_t> roleEnds(program.roles.size());
  std::vector<std::vector<TimelineSpan>> served(timeline.resources.size());
  for (const TimelineSpan &span : timeline.spans) {
    CHECK(span.issued <= span.start);
    CHECK(span.start <= span.end);
    CHECK(span.end <= timeline.cycles);
    CHECK(isCaused(timeline, span));
    if (span.kind != TimelineSpan::Kind::Wait && span.resource != kNoResource)
      served[static_cast<std::size_t>(span.resource)].push_back(span);
    if (span.kind == TimelineSpan::Kind::Flight) continue;
    CHECK(span.start == roleEnds[span.role.index()]);
    roleEnds[span.role.index()] = span.end;
  }
  for (std::size_t i = 0; i < served.size(); ++i) {
    std::ranges::sort(served[i], {}, &TimelineSpan::start);
    std::int64_t busy = 0, freeAt = 0;
    for (const TimelineSpan &span : served[i]) {
      CHECK(span.start >= freeAt);
      freeAt = span.start + span.op->cost.busy;
      busy += span.op->cost.busy;
    }
    CHECK(busy == timeline.resources[i].busy);
  }
}

} // namespace

TEST_CASE("everything in a timeline has its reason, and nothing is in two places") {
  for (const std::int32_t inFlight : {0, 1}) {
    const Program program = pipelined({.depth = 3, .inFlight = inFlight});
    checkTimeline(program, timed(program, {3, 7}));
  }
  // Two roles on one resource, one of them by a queue; a queue whose operations end together.
  const Program shared = parsed(R"(
    meeting %all parties 2
    trips %k
    role %a {
      queue %q serial
      queue %r
      for %k {
        issue %q takes 20 on alu busy 7
        issue %q takes 20 on alu busy 7
        issue %r takes 50
        issue %r takes 5
        access takes 3 on alu busy 3
        drain %r
        meet %all
      }
      drain %q
    }
    role %b { for %k { access takes 11 on alu busy 10 access takes 30 meet %all } })");
  checkTimeline(shared, timed(shared, {5}));
}

TEST_CASE("the schedules that matter have timelines, with every reason in them") {
  using namespace imbrex::testing;
  const auto check = [](Program plain, const std::vector<std::int32_t> &trips) {
    const Program program = costed(std::move(plain));
    CAPTURE(program.name);
    checkTimeline(program, timed(program, trips));
    const std::int32_t last = static_cast<std::int32_t>(trips.size()) - 1;
    const auto interval =
        initiationInterval(program, TripsId(static_cast<std::uint32_t>(last)), trips);
    REQUIRE(interval.ok());
    CHECK(interval->period > 0);
    CHECK(interval->cyclesPerTrip >= interval->lowerBound);
  };
  check(gemm(), {9});
  check(gemm({.depth = 3, .persistent = true}), {3, 4});
  check(biasGemm(), {3, 5});
  check(tensorGemm(), {3, 5});
  check(attention(), {2, 5});
  check(attention({.turns = false}), {2, 5});
  check(groupedGemm(), {7});
  check(pingPongGemm(), {7});
  check(stagedPingPongGemm(), {7});
}

TEST_CASE("the limit of a nest is that of the loop which most of its time goes into") {
  const Program program = parsed("trips %tiles trips %k in %tiles role %a { for %tiles {\n"
                                 "  for %k { access takes 1 } access takes 50 access takes 51 } }");
  const Timeline inner = timed(program, {2, 400});
  REQUIRE(inner.inLoop);
  CHECK(program[inner.inLoop->loop].name == "k");
  CHECK(inner.inLoop->share == doctest::Approx(0.8).epsilon(0.01));
  CHECK(cyclesOf(inner.inLoop->interval.critical) == 1);
  // Of more tiles each is a part, and what lies between their steps belongs to it.
  CHECK(cyclesOf(timed(program, {9, 400}).critical) == 501);
  const Timeline outer = timed(program, {2, 4});
  REQUIRE(outer.inLoop);
  CHECK(program[outer.inLoop->loop].name == "tiles");
  CHECK(cyclesOf(outer.inLoop->interval.critical) == 105);
}

namespace {

/// A loader, two roles that compute, another number of steps in each tile, and what is behind them.
Program nested(std::int32_t depth, std::int32_t inFlight) {
  Program program = pipelined({.depth = depth, .loadCycles = 333, .inFlight = inFlight});
  std::vector<ScheduleOp> &body = program.roles.back().body.front().body;
  body.push_back(
      {.kind = ScheduleOpKind::Access, .cost = {.resource = "alu", .cycles = 77, .busy = 70}});
  return program;
}

std::string told(const Program &program, const Timeline &timeline) {
  std::string text = std::to_string(timeline.cycles) + "\n";
  for (const ResourceUse &resource : timeline.resources)
    text += resource.name + " " + std::to_string(resource.busy) + " " +
            std::to_string(resource.steadyShare) + "\n";
  for (std::size_t role = 0; role < timeline.roles.size(); ++role) {
    text += program.roles[role].name + " " + std::to_string(timeline.roles[role].works) + "\n";
    for (const WaitUse &wait : timeline.roles[role].waits)
      text += "  " + std::string(info(wait.op->kind).mnemonic) + " " + std::to_string(wait.cycles) +
              " " + std::to_string(wait.held) + " " + std::to_string(wait.times) + "\n";
  }
  for (const LoopUse &loop : timeline.loops) text += std::to_string(loop.cycles) + "\n";
  return text;
}

} // namespace

TEST_CASE("what is skipped because it repeats itself is counted as if it had been run") {
  for (const std::int32_t depth : {2, 3, 5})
    for (const std::int32_t inFlight : {0, 1})
      for (const std::vector<std::int32_t> &trips :
           {std::vector<std::int32_t>{1, 200}, {7, 60}, {50, 3}, {40, 41}, {1, 0}, {13, 1}}) {
        CAPTURE(depth);
        CAPTURE(inFlight);
        CAPTURE(trips[0]);
        CAPTURE(trips[1]);
        const Program program = nested(depth, inFlight);
        const check::Model model(program);
        timeline::Simulation whole(model, trips, {.spans = 1'000'000}), skipping(model, trips);
        REQUIRE_FALSE(whole.run());
        REQUIRE_FALSE(skipping.run());
        CHECK(skipping.steps() <= whole.steps());
        const std::int64_t cycles = whole.cycles();
        const Timeline all = whole.takeTimeline(), some = skipping.takeTimeline();
        CHECK(all.isWhole);
        CHECK(told(program, some) == told(program, all));
        // In the middle half, too: of the whole one the spans tell.
        const timeline::SimulationLimits middle = {.windowBegin = cycles / 4,
                                                   .windowEnd = cycles - cycles / 4};
        timeline::Simulation again(model, trips, middle), slowly(model, trips, [&] {
          timeline::SimulationLimits limits = middle;
          limits.spans = 1'000'000;
          return limits;
        }());
        REQUIRE_FALSE(again.run());
        REQUIRE_FALSE(slowly.run());
        CHECK(again.busyInWindow() == slowly.busyInWindow());
      }
}

TEST_CASE("a run takes the steps of what is new in it, however many trips there are") {
  for (const std::int32_t depth : {2, 300, 65536}) {
    CAPTURE(depth);
    const Program program = nested(depth, 0);
    const check::Model model(program, check::Purpose::Timing);
    const auto stepsOf = [&](const std::vector<std::int32_t> &trips) {
      timeline::Simulation run(model, trips);
      REQUIRE_FALSE(run.run());
      return run.steps();
    };
    // Until the ring is full, which the loader fills faster than it is emptied.
    CHECK(stepsOf({1, 2'000'000'000}) < 40'000 + 22 * depth);
    CHECK(stepsOf({2'000'000, 1000}) < 80'000 + 22 * depth);
  }
}

TEST_CASE("a timeline of more spans than are kept has the first of them, and tells of all") {
  const Program program = pipelined({.depth = 2, .loadCycles = 100});
  const auto simulated = simulate(program, {1, 100'000});
  REQUIRE(simulated.ok());
  const Timeline &timeline = *simulated;
  CHECK_FALSE(timeline.isWhole);
  CHECK(timeline.cycles == 65 * 100'000 + 30);
  CHECK(static_cast<int>(timeline.spans.size()) == timeline::kMostSpans);
  REQUIRE(timeline.inLoop);
  CHECK(cyclesOf(timeline.inLoop->interval.critical) == 130);
  CHECK(timeline.resources[1].steadyShare == doctest::Approx(60.0 / 130).epsilon(0.001));
}

TEST_CASE("more cycles than numbers hold are refused") {
  const Program program = parsed("trips %t trips %k in %t role %a { for %t { for %k {\n"
                                 "  access takes 2147483647 } } }");
  const auto timeline = simulate(program, {2147483647, 2147483647});
  REQUIRE_FALSE(timeline.ok());
  CHECK(timeline.error().kind == Diag::TimelineTooLate);
}

TEST_CASE("a timeline of nothing is empty") {
  const Timeline nothing = timed(parsed(""));
  CHECK(nothing.cycles == 0);
  CHECK(nothing.spans.empty());
  CHECK(nothing.binding == kNoResource);
  const Timeline none = timed(pipelined({}), {0, 5});
  CHECK(none.cycles == 0);
  CHECK(none.critical.empty());
}

namespace {

Diagnostic problemOf(const std::string &body, const std::vector<std::int32_t> &trips = {}) {
  const Program program = parsed(body);
  const auto timeline = simulate(program, trips);
  REQUIRE_FALSE(timeline.ok());
  return timeline.error();
}

} // namespace

TEST_CASE("loops run their trips, and conditions hold where they say") {
  CHECK(busySpans("trips %k role %a { for %k {\n"
                  "  if done %k > 1 { access takes 1 }\n"
                  "  if left %k > 2 { access takes 10 }\n"
                  "} if count %k > 3 { access takes 100 } if count %k > 4 { access takes 1000 } }",
                  {4}) == "a: access 0-10, access 10-20, access 20-21, access 21-22, "
                          "access 22-122\n");
  CHECK(busySpans("trips %k role %a { for %k from 2 less 1 { access takes 5 } }", {5}) ==
        "a: access 0-5, access 5-10\n");
}

TEST_CASE("a timeline lasts until its last span has ended") {
  CHECK(timed(parsed("role %a { access takes 9 }\nrole %b { access takes 2 }\n")).cycles == 9);
}

TEST_CASE("a schedule that stops has no timeline") {
  const Diagnostic stuck =
      problemOf("barrier %go\nmeeting %all parties 3\n"
                "role %a { access takes 7 wait %go }\nrole %b { meet %all }\n");
  CHECK(stuck.kind == Diag::TimelineStuck);
  CHECK(stuck.message == "the timeline of schedule 'test' stops for ever at cycle 7: "
                         "'a' in wait 'go'; 'b' in meet 'all'");
}

TEST_CASE("a schedule in which too many come has no timeline") {
  CHECK(
      problemOf("barrier %go arrivals 2\nrole %a { arrive %go count 3 }").message ==
      "at cycle 0 of the timeline of schedule 'test', more come to barrier 'go' than it waits for");
  CHECK(problemOf("buffer %A 8\nbarrier %go\nrole %a { copy writes %A to %go bytes 8 takes 4 "
                  "access takes 5 arrive %go }")
            .kind == Diag::TimelineUnsafe);
  CHECK(problemOf("meeting %all\nrole %a warps 2 { meet %all }").message ==
        "at cycle 0 of the timeline of schedule 'test', more come to meeting 'all' than it waits "
        "for");
}

TEST_CASE("a timeline that nobody can look at is refused, and so are too few trips") {
  CHECK(problemOf("trips %k\nrole %a { for %k { fence } }", {2000000000}).message ==
        "the timeline of schedule 'test' with k = 2000000000 has more than 2000000 steps");
  CHECK(problemOf("trips %k least 2\nrole %a { for %k { fence } }", {1}).message ==
        "there are never fewer than 2 trips of 'k', but 1 are asked for");
}
