#include "backend/schedule/timeline/simulation.h"
#include "backend/schedule/timeline/timeline.h"
#include "tests/support/schedule_mutants.h"
#include "tests/support/schedules.h"
#include "tests/support/small_schedules.h"
#include "tests/unit/schedule/timed_programs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

using namespace imbrex;
using namespace imbrex::schedule;
using namespace imbrex::testing;

TEST_CASE("each step is as fast as the slowest of load, product, and the way round the ring") {
  for (std::int32_t depth = 1; depth <= 5; ++depth)
    for (const std::int32_t busy : {10, 40})
      for (const std::int32_t cycles : {50, 100, 333}) {
        CAPTURE(depth);
        CAPTURE(busy);
        CAPTURE(cycles);
        const Interval interval =
            intervalOf(pipelined({.depth = depth, .loadBusy = busy, .loadCycles = cycles}));
        const double round = (cycles + 30.0) / depth;
        CHECK(interval.cyclesPerTrip == doctest::Approx(std::max({busy + 0.0, 30.0, round})));
        CHECK(interval.lowerBound == std::max(busy, 30));
        CHECK(interval.busiest == (busy > 30 ? "bus" : "alu"));
        CHECK(interval.resources == std::map<std::string, double>{{"alu", 30}, {"bus", busy}});
        CHECK(interval.period >= 1);
      }
}

TEST_CASE("a product in flight keeps a slot, and hides nothing that is bound by the loads") {
  for (std::int32_t depth = 2; depth <= 5; ++depth) {
    CAPTURE(depth);
    const Interval interval =
        intervalOf(pipelined({.depth = depth, .loadCycles = 100, .inFlight = 1}));
    // Product i + 1 must have been issued, which takes its load, before slot i is given back.
    CHECK(interval.cyclesPerTrip == doctest::Approx(std::max(30.0, 100.0 / (depth - 1))));
  }
}

TEST_CASE("an interval is no faster than its bound, and none grows by a deeper ring") {
  std::mt19937 random(20);
  const auto upTo = [&](std::int32_t most) {
    return static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(most)) + 1;
  };
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    Pipeline shape{.loadBusy = upTo(60), .compute = upTo(80), .inFlight = i % 2};
    shape.loadCycles = shape.loadBusy + upTo(300);
    double before = std::numeric_limits<double>::infinity();
    for (shape.depth = 1 + shape.inFlight; shape.depth <= 6; ++shape.depth) {
      const Interval interval = intervalOf(pipelined(shape));
      CHECK(interval.period > 0);
      CHECK(interval.cyclesPerTrip >= interval.lowerBound);
      CHECK(interval.cyclesPerTrip <= before);
      before = interval.cyclesPerTrip;
    }
  }
}

TEST_CASE("more trips take as much longer as the interval says") {
  const Program program = pipelined({.depth = 3, .loadCycles = 100});
  const Interval interval = intervalOf(program);
  CHECK(interval.period == 3);
  CHECK(interval.periodCycles == 130);
  CHECK(timed(program, {1, 63}).cycles + 130 == timed(program, {1, 66}).cycles);
}

TEST_CASE("an interval of an inner loop is that of one run of it") {
  const Program program = pipelined({.depth = 2, .loadCycles = 100});
  const auto interval = initiationInterval(program, TripsId(1), {7, 3});
  REQUIRE(interval.ok());
  CHECK(interval->cyclesPerTrip == 65);
}

TEST_CASE("what a role does by itself is a bound, and loops over the same trips add up") {
  const Program program = parsed("trips %k role %a { for %k { access takes 3 }\n"
                                 "  for %k { access takes 5 } }\n"
                                 "role %b { for %k { access takes 7 } }\n");
  const auto interval = initiationInterval(program, TripsId(0), {1});
  REQUIRE(interval.ok());
  CHECK(interval->cyclesPerTrip == 8);
  CHECK(interval->period == 0); // each role has its own stride
  CHECK(interval->lowerBound == 8);
  CHECK(interval->busiest == "role a");
}

TEST_CASE("an interval is that of trips beyond all conditions") {
  const Program program = parsed("trips %k role %a { for %k { if done %k > 100 { access takes 2 }\n"
                                 "  if done %k > 5000 { access takes 4 } } }\n");
  const auto interval = initiationInterval(program, TripsId(0), {1});
  REQUIRE(interval.ok());
  CHECK(interval->cyclesPerTrip == 6);
}

TEST_CASE("a loop that does not come to repeat itself is told by many trips") {
  const Program program =
      parsed("trips %k\n"
             "role %a { for %k { access takes 7 on x busy 7 access takes 96 } }\n"
             "role %b { for %k { access takes 5 on x busy 5 access takes 997 } }");
  const auto interval = initiationInterval(program, TripsId(0), {1});
  REQUIRE(interval.ok());
  CHECK(interval->period == 0);
  CHECK(interval->cyclesPerTrip >= 1002);
  CHECK(interval->cyclesPerTrip < 1009);
  CHECK(interval->lowerBound == 1002);
  CHECK(interval->busiest == "role b");
}

TEST_CASE("a loop is told by as many trips as can be run, where it does not repeat itself before") {
  const Program program =
      parsed("trips %t trips %k in %t\n"
             "role %a { for %t { for %k { fence } access takes 7 on x busy 7 access takes 96 } }\n"
             "role %b { for %t { for %k { fence } access takes 5 on x busy 5 access takes 997 } }");
  const auto interval = initiationInterval(program, TripsId(0), {1, 2000});
  REQUIRE(interval.ok());
  CHECK(interval->period == 0);
  CHECK(interval->cyclesPerTrip >= 1002);
  CHECK(interval->cyclesPerTrip < 1009);
  CHECK(interval->busiest == "role b");
}

namespace {

Diagnostic problemOf(const std::string &body, std::uint32_t loop, std::vector<std::int32_t> trips) {
  const Program program = parsed(body);
  REQUIRE(checkAt(program, sameTrips(trips)).isSafe());
  REQUIRE(simulate(program, trips).ok());
  const auto interval = initiationInterval(program, TripsId(loop), std::move(trips));
  REQUIRE_FALSE(interval.ok());
  return interval.error();
}

/// Safe where there are as many trips of the one as of the other.
constexpr const char *kInStep = R"(trips %a trips %b
ring %R depth 2 { barrier %full barrier %empty }
role %one { cursor %p in %R for %a { wait %empty(%p) flipped arrive %full(%p) advance %p } }
role %two { cursor %c in %R for %b { wait %full(%c) arrive %empty(%c) advance %c } })";

} // namespace

TEST_CASE("a schedule that is safe for the asked trips alone stops at others, which are named") {
  const Diagnostic stuck = problemOf(kInStep, 0, {5, 5});
  CHECK(stuck.message == "the timeline of schedule 'test' with a = 64, b = 5 (run to tell how long "
                         "a trip of 'a' takes) stops for ever at cycle 0: 'one' in wait 'empty'");
  const Diagnostic other = problemOf(kInStep, 1, {5, 5});
  CHECK(other.message.find("with a = 5, b = 64 (run to tell how long a trip of 'b' takes)") !=
        std::string::npos);
  const Diagnostic overfull = problemOf("trips %t trips %k in %t barrier %go arrivals 100\n"
                                        "role %a { for %t { for %k { arrive %go count 3 } } }",
                                        1, {2, 3});
  CHECK(overfull.message == "at cycle 0 of the timeline of schedule 'test' with t = 1, k = 64 (run "
                            "to tell how long a trip of 'k' takes), more come to barrier 'go' than "
                            "it waits for");
}

TEST_CASE("no more trips are run to tell how long one takes than can be") {
  const Diagnostic far = problemOf(
      "trips %k role %a { for %k { if done %k > 2000000000 { access takes 2 } } }", 0, {3});
  CHECK(far.message ==
        "the timeline of schedule 'test' with k = 2147483647 (run to tell how long a "
        "trip of 'k' takes) has more than 2000000 steps");
}

TEST_CASE("a schedule that is proven never stops in its timeline, however many trips it takes") {
  std::mt19937 random(8);
  int proven = 0;
  for (int round = 0; round < 600; ++round) {
    const auto &schedules = smallSchedules();
    const auto mutant =
        mutate(schedules[static_cast<std::size_t>(round) % schedules.size()].make(), random);
    if (!mutant || !prove(mutant->program).isSafe()) continue;
    CAPTURE(mutant->program.name);
    CAPTURE(mutant->what);
    ++proven;
    std::vector<std::int32_t> trips;
    for (const Trips &of : mutant->program.trips) trips.push_back(of.least + round % 4);
    CHECK(simulate(mutant->program, trips).ok());
    for (std::uint32_t loop = 0; loop < trips.size(); ++loop)
      CHECK(initiationInterval(mutant->program, TripsId(loop), trips).ok());
  }
  CHECK(proven > 80);
}

TEST_CASE("an interval of an outer loop has the inner one in it") {
  const Program program = pipelined({.depth = 4, .loadCycles = 10, .compute = 20});
  auto interval = initiationInterval(program, TripsId(0), {1, 5});
  REQUIRE(interval.ok());
  CHECK(interval->cyclesPerTrip == 100);
}

TEST_CASE("deeper rings make the schedules that matter no slower") {
  using namespace imbrex::testing;
  const auto intervals = [](const auto &make, std::uint32_t loop) {
    double before = std::numeric_limits<double>::infinity();
    for (std::int32_t depth = 2; depth <= 7; ++depth) {
      CAPTURE(depth);
      const Program program = costed(make(depth));
      const auto interval = initiationInterval(program, TripsId(loop),
                                               std::vector<std::int32_t>(program.trips.size(), 1));
      REQUIRE(interval.ok());
      CHECK(interval->cyclesPerTrip <= before);
      CHECK(interval->cyclesPerTrip >= interval->lowerBound);
      before = interval->cyclesPerTrip;
    }
    return before;
  };
  // A step needs 128 cycles of products, of which one is in flight.
  CHECK(intervals([](std::int32_t depth) { return gemm({.depth = depth}); }, 0) == 128);
  CHECK(intervals([](std::int32_t depth) { return biasGemm({.depth = depth}); }, 1) == 128);
  CHECK(intervals([](std::int32_t depth) { return tensorGemm({.depth = depth}); }, 1) == 128);
  // A block of keys and one of values are multiplied by two groups.
  CHECK(intervals(
            [](std::int32_t depth) { return attention({.keyDepth = depth, .valueDepth = depth}); },
            1) == 512);
}

namespace {

std::int64_t cyclesOf(const Program &program, const std::vector<std::int32_t> &trips) {
  const auto timeline = simulate(program, trips);
  REQUIRE(timeline.ok());
  return timeline->cycles;
}

/// What the interval says is what more trips add to a whole run.
void checkInterval(const Program &program, std::uint32_t loop, std::vector<std::int32_t> trips) {
  CAPTURE(program.name);
  const auto interval = initiationInterval(program, TripsId(loop), trips);
  REQUIRE(interval.ok());
  REQUIRE(interval->period > 0);
  trips[loop] = 40;
  const std::int64_t before = cyclesOf(program, trips);
  trips[loop] += static_cast<std::int32_t>(interval->period);
  CHECK(cyclesOf(program, trips) - before == interval->periodCycles);
}

} // namespace

TEST_CASE("a run that repeats itself adds so many cycles for so many trips, in every schedule") {
  using namespace imbrex::testing;
  for (const std::int32_t product : {40, 128, 700}) {
    CAPTURE(product);
    checkInterval(costed(gemm(), product), 0, {9});
    checkInterval(costed(gemm({.depth = 3, .persistent = true}), product), 0, {9, 5});
    checkInterval(
        costed(gemm({.depth = 2, .persistent = true}, GemmDefect::RestartsPerTile), product), 0,
        {9, 4});
    checkInterval(costed(biasGemm(), product), 0, {9, 3});
    checkInterval(costed(tensorGemm(), product), 0, {9, 5});
    checkInterval(costed(attention(), product), 0, {9, 4});
    checkInterval(costed(groupedGemm(), product), 0, {9});
    checkInterval(costed(pingPongGemm({.depth = 3}), product), 0, {9});
    checkInterval(costed(stagedPingPongGemm(), product), 0, {9});
  }
}

TEST_CASE("what is in flight is part of what repeats itself: rings, queues, resources, meetings") {
  std::mt19937 random(33);
  const auto upTo = [&](std::uint32_t most) {
    return static_cast<std::int32_t>(random() % most) + 1;
  };
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    const auto n = [&](std::uint32_t most) { return std::to_string(upTo(most) + 9); };
    const std::string grouped = i % 2 ? "grouped" : "", commit = i % 2 ? "commit %q" : "";
    const std::string body =
        "trips %k ring %R depth " + std::to_string(upTo(4)) +
        " { barrier %full barrier %empty } meeting %all parties 2\n" +
        "role %a { cursor %p in %R queue %q " + (i % 3 ? "serial " : "") + grouped +
        " for %k { wait %empty(%p) flipped issue %q takes " + n(300) + " on x busy 9 " + commit +
        " issue %q takes " + n(99) + " on y busy 7 " + commit + " drain %q to " +
        std::to_string(upTo(3)) + " signal %full(%p) after %q advance %p " +
        (i % 5 ? "" : "meet %all") + " } }\n" +
        "role %b { cursor %c in %R for %k { wait %full(%c) access takes " + n(90) +
        " on y busy 7 if done %k > 2 { access takes " + n(50) + " } arrive %empty(%c) advance %c " +
        (i % 5 ? "" : "meet %all") + " } }";
    checkInterval(parsed(body), 0, {40});
  }
}

TEST_CASE("a run ends as soon as it repeats itself, unless a loop runs twice") {
  const auto watched = [](const Program &program) {
    const check::Model model(program);
    const std::vector<std::int32_t> trips(program.trips.size(), 500);
    timeline::Simulation simulation(model, trips);
    simulation.watch(TripsId(0));
    REQUIRE_FALSE(simulation.run());
    return std::pair(simulation.repetition().has_value(), simulation.cycles());
  };
  const auto [repeats, cycles] = watched(parsed("trips %k role %a { for %k { access takes 3 } }"));
  CHECK(repeats);
  CHECK(cycles < 10);
  const auto [twice, all] = watched(parsed("trips %k role %a { for %k { access takes 3 }\n"
                                           "  for %k { access takes 5 } }"));
  CHECK_FALSE(twice);
  CHECK(all == 4000);
}

TEST_CASE("conditions on the first and the last trips do not count as what repeats itself") {
  const auto interval = [](const std::string &condition) {
    const Program program = parsed("trips %k role %a { for %k { access takes 3 if " + condition +
                                   " { access takes 10 } } }");
    return intervalOf(program, 0).cyclesPerTrip;
  };
  CHECK(interval("done %k > 30") == 13);
  CHECK(interval("left %k > 30") == 13);
  CHECK(interval("count %k > 30") == 13);
}

TEST_CASE("a queue that falls behind does not repeat itself, and tells how fast it is") {
  const Interval behind = intervalOf(parsed("trips %k role %a { queue %q serial for %k {\n"
                                            "  issue %q takes 90 access takes 10 } drain %q }"),
                                     0);
  CHECK(behind.cyclesPerTrip == 90);
}
