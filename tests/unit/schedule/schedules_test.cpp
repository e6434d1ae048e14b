#include "backend/schedule/program/program_text.h"
#include "backend/schedule/program/well_formed.h"
#include "tests/support/random_schedule.h"
#include "tests/support/schedule_bugs.h"
#include "tests/support/schedule_mutants.h"
#include "tests/support/schedule_oracle.h"
#include "tests/support/schedules.h"
#include "tests/support/small_schedules.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace imbrex::testing {
namespace {

using namespace schedule;

using Failures = std::set<Failure>;

Failures explored(const Program &program, const TripTable &trips) {
  const Exploration found = explore(program, tripsByName(program, trips));
  REQUIRE(found.complete);
  return found.failures;
}

/// What of a fault can be observed on the machine.
Failures observable(Fault fault) {
  switch (fault) {
  case Fault::Deadlock:
  case Fault::BytesMismatch:
  case Fault::Depth: return {Failure::Deadlock};
  case Fault::ReadRace:
  case Fault::OverwriteRace: return {Failure::Race, Failure::Value};
  case Fault::WriteRace: return {Failure::Race};
  case Fault::WrongGeneration: return {Failure::Value};
  case Fault::ParityAlias:
  case Fault::EarlyArrival:
  case Fault::OverArrival:
    return {Failure::Deadlock, Failure::Race, Failure::Value, Failure::OverArrival};
  case Fault::Uninitialised: return {Failure::Uninitialised};
  case Fault::MeetingParties: return {Failure::Parties, Failure::Deadlock};
  case Fault::Unfenced: return {Failure::Unfenced};
  case Fault::RegisterBudget: return {};
  }
  return {};
}

} // namespace

TEST_CASE("the schedule of a product runs, of whatever length") {
  for (const std::int32_t depth : {1, 2, 3})
    for (const std::int32_t inFlight : {0, 1, 2})
      for (const std::int64_t k : {0, 1, 2, 3, 5}) {
        CAPTURE(depth);
        CAPTURE(inFlight);
        CAPTURE(k);
        const bool live = depth > inFlight || k <= depth;
        const Program program = gemm({.depth = depth, .inFlight = inFlight, .warps = 1});
        CHECK(explored(program, {{"k", {k}}}) == (live ? Failures{} : Failures{Failure::Deadlock}));
      }
}

TEST_CASE("the schedule of a product runs on from tile to tile") {
  for (const std::int32_t warps : {1, 2})
    for (const std::int32_t depth : {2, 3}) {
      const Program program = gemm({.depth = depth, .warps = warps, .persistent = true});
      CHECK(explored(program, {{"tiles", {3}}, {"k", {1, 0, 2}}}).empty());
    }
}

TEST_CASE("a release of all slots at the start is as good as a first wait that passes") {
  const Program program = gemm({.depth = 2, .warps = 1, .arrivesAhead = true});
  for (const std::int64_t k : {1, 2, 5}) CHECK(explored(program, {{"k", {k}}}).empty());
}

TEST_CASE("a parity that starts anew with each tile goes unnoticed after whole turns of two") {
  const Program program =
      gemm({.depth = 2, .warps = 1, .persistent = true}, GemmDefect::RestartsPerTile);
  CHECK(explored(program, {{"tiles", {2}}, {"k", {4}}}).empty());
  CHECK_FALSE(explored(program, {{"tiles", {2}}, {"k", {3}}}).empty());
}

TEST_CASE("the schedule of a product with bias runs") {
  for (const std::int32_t warps : {1, 2})
    CHECK(explored(biasGemm({.warps = warps}), {{"tiles", {3}}, {"k", {1, 2}}}).empty());
}

TEST_CASE("the schedule of a product in the tensor core's memory runs") {
  for (const std::int32_t results : {1, 2})
    for (const std::int32_t warps : {1, 2}) {
      const TensorGemmShape shape = {.depth = 2, .resultDepth = results, .warps = warps};
      CHECK(explored(tensorGemm(shape), {{"tiles", {2}}, {"k", {2, 1}}}).empty());
    }
}

TEST_CASE("the schedule of attention runs at every depth, with and without turns") {
  for (const bool turns : {true, false})
    for (const std::int32_t keys : {1, 2, 3})
      for (const std::int32_t values : {1, 2, 3}) {
        const AttentionShape shape = {keys, values, 1, turns};
        CHECK(explored(attention(shape), {{"tiles", {2}}, {"n", {2, 1}}}).empty());
      }
  CHECK(explored(attention({1, 1, 2}), {{"tiles", {1}}, {"n", {2}}}).empty());
  CHECK(explored(attention({.warps = 1}), {{"tiles", {3}}, {"n", {0, 1, 0}}}).empty());
}

TEST_CASE("the schedule of grouped copies runs, with an epilogue in their memory and without") {
  for (const std::int32_t depth : {2, 3, 4})
    for (const bool epilogue : {true, false})
      for (const std::int64_t k : {0, 1, 2, 3, 6})
        CHECK(explored(groupedGemm({depth, 2, epilogue}), {{"k", {k}}}).empty());
}

TEST_CASE("the schedules of two groups in turns run") {
  for (const std::int32_t warps : {1, 2})
    for (const std::int64_t k : {0, 1, 2, 3, 6}) {
      for (const std::int32_t depth : {2, 3, 4})
        CHECK(explored(pingPongGemm({depth, warps}), {{"k", {k}}}).empty());
      CHECK(explored(stagedPingPongGemm(warps), {{"k", {k}}}).empty());
    }
}

TEST_CASE("the schedules run in their real sizes, as far as was looked") {
  const auto fails = [](const Program &program, const TripTable &trips) {
    return !explore(program, tripsByName(program, trips), {.states = 5000}).failures.empty();
  };
  const TripTable counts = {{"tiles", {3}}, {"k", {9}}, {"n", {5, 4}}};
  CHECK_FALSE(fails(gemm(), counts));
  CHECK_FALSE(fails(gemm({.depth = 4, .inFlight = 2, .persistent = true}), counts));
  CHECK_FALSE(fails(biasGemm(), counts));
  CHECK_FALSE(fails(tensorGemm(), counts));
  CHECK_FALSE(fails(attention(), counts));
  CHECK_FALSE(fails(groupedGemm({.epilogue = true}), counts));
  CHECK_FALSE(fails(pingPongGemm({.depth = 3}), counts));
  CHECK_FALSE(fails(stagedPingPongGemm(), counts));
  CHECK(fails(gemm({}, GemmDefect::EmptyCountTooHigh), counts));
}

TEST_CASE("every known bug is seen to go wrong, and its repair to run") {
  for (const KnownBug &bug : knownBugs()) {
    if (!bug.seenByOracle) continue;
    CAPTURE(bug.id);
    CAPTURE(bug.what);
    Failures right;
    for (const Fault fault : bug.faults) right.merge(observable(fault));
    const Failures found = explored(bug.defective(), bug.trips);
    CHECK(std::ranges::any_of(found, [&](Failure failure) { return right.contains(failure); }));
    CHECK(explored(bug.repaired(), bug.trips).empty());
  }
}

TEST_CASE("the repair of a known bug runs for other numbers of trips as well") {
  for (const KnownBug &bug : knownBugs()) {
    if (!bug.seenByOracle) continue;
    const Program program = bug.repaired();
    for (std::int32_t count = 0; count < 5; ++count) {
      CAPTURE(bug.id);
      CAPTURE(count);
      const TripCount trips = [&](TripsId id, std::int64_t of) {
        return std::max<std::int64_t>(program[id].least, of % 2 == 0 ? count : 2);
      };
      const Exploration found = explore(program, trips, {.states = 20'000});
      CHECK(found.failures.empty());
    }
  }
}

TEST_CASE("known bugs and their repairs are well formed") {
  for (const KnownBug &bug : knownBugs()) {
    CAPTURE(bug.id);
    Diagnostics diagnostics;
    CHECK(verify(bug.defective(), diagnostics));
    CHECK(verify(bug.repaired(), diagnostics));
    CHECK(diagnostics.render() == "");
  }
}

TEST_CASE("every known bug has its own name, and so has what a schedule cannot show") {
  std::set<std::string_view> names;
  for (const KnownBug &bug : knownBugs()) {
    CHECK(names.insert(bug.id).second);
    CHECK_FALSE(bug.faults.empty());
  }
  for (const OtherBug &bug : otherBugs()) CHECK(names.insert(bug.id).second);
}

namespace {

struct Drawn {
  const SmallSchedule *base;
  Mutant mutant;
};

std::optional<Drawn> draw(std::mt19937 &random) {
  const auto &bases = smallSchedules();
  const SmallSchedule &base =
      bases[std::uniform_int_distribution<std::size_t>(0, bases.size() - 1)(random)];
  if (auto mutant = mutate(base.make(), random)) return Drawn{&base, std::move(*mutant)};
  return std::nullopt;
}

} // namespace

TEST_CASE("the small schedules run") {
  for (const SmallSchedule &schedule : smallSchedules()) {
    CAPTURE(schedule.name);
    CHECK(explored(schedule.make(), schedule.trips).empty());
  }
}

TEST_CASE("orders that the oracle leaves out show nothing new, on mutants") {
  std::mt19937 random(5);
  int wrong = 0, right = 0;
  for (int round = 0; round < 400; ++round) {
    const auto drawn = draw(random);
    if (!drawn) continue;
    CAPTURE(round);
    CAPTURE(drawn->base->name);
    CAPTURE(drawn->mutant.what);
    const Program &program = drawn->mutant.program;
    const TripCount count = tripsByName(program, drawn->base->trips);
    const Exploration some = explore(program, count, {.untilFirst = true});
    const Exploration all = explore(program, count, {.untilFirst = true, .reduced = false});
    REQUIRE(some.complete);
    REQUIRE(all.complete);
    CHECK(some.failures.empty() == all.failures.empty());
    ++(some.failures.empty() ? right : wrong);
  }
  // The comparison means something where both are frequent.
  CHECK(wrong > 60);
  CHECK(right > 60);
}

TEST_CASE("orders that the oracle leaves out show nothing new, on random schedules") {
  int right = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    Program program = randomSchedule(seed, {.roles = 2, .rings = 2, .size = 4, .nesting = 2});
    for (Role &role : program.roles) role.warps = std::min(role.warps, 2);
    const TripCount count = [&](TripsId id, std::int64_t of) {
      return std::max<std::int64_t>(program[id].least, (of + seed) % 3);
    };
    const Traces traces = trace(program, count);
    if (std::ranges::any_of(traces.agents, [](const auto &steps) { return steps.size() > 12; }))
      continue;
    const Exploration some = explore(program, count, {.untilFirst = true});
    const Exploration all = explore(program, count, {.untilFirst = true, .reduced = false});
    REQUIRE(some.complete);
    REQUIRE(all.complete);
    CHECK(some.failures.empty() == all.failures.empty());
    right += some.failures.empty() ? 1 : 0;
  }
  CHECK(right > 20);
}

TEST_CASE("mutants change every kind of thing, and say what") {
  std::mt19937 random(6);
  std::set<std::string> unseen = {
      "the arrivals of", "the parties of", "the depth of",     "is left out", "is done twice",
      "goes before",     "goes behind",    "into a condition", "goes out of", "the other parity",
      "the bytes of",    "the count of",   "an index of",      "means '",     "goes by '"};
  for (int round = 0; round < 2000; ++round)
    if (const auto drawn = draw(random))
      std::erase_if(unseen, [&](const std::string &words) {
        return drawn->mutant.what.find(words) != std::string::npos;
      });
  CHECK(unseen == std::set<std::string>{});
}

TEST_CASE("mutants are well formed, and not what they were made of") {
  std::mt19937 random(8);
  for (int round = 0; round < 1000; ++round)
    if (const auto drawn = draw(random)) {
      CAPTURE(drawn->base->name);
      CAPTURE(drawn->mutant.what);
      Diagnostics diagnostics;
      CHECK(verify(drawn->mutant.program, diagnostics));
      CHECK(print(drawn->mutant.program) != print(drawn->base->make()));
    }
}

} // namespace imbrex::testing
