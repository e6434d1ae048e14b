#include "backend/schedule/budget.h"
#include "backend/schedule/check.h"
#include "tests/support/schedule_bugs.h"
#include "tests/support/schedule_mutants.h"
#include "tests/support/schedule_oracle.h"
#include "tests/support/schedules.h"
#include "tests/support/small_schedules.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

using namespace imbrex;
using namespace imbrex::schedule;
using namespace imbrex::testing;

namespace {

/// The findings of the checker that mean a fault of the list of known bugs.
const std::map<Fault, std::vector<Diag>> kFindings = {
    {Fault::Deadlock, {Diag::ScheduleDeadlock}},
    {Fault::ReadRace, {Diag::ScheduleReadRace, Diag::ScheduleUnwritten}},
    {Fault::OverwriteRace, {Diag::ScheduleOverwriteRace}},
    {Fault::WriteRace, {Diag::ScheduleWriteRace}},
    {Fault::WrongGeneration, {Diag::ScheduleWrongContent}},
    {Fault::ParityAlias, {Diag::ScheduleParity}},
    {Fault::EarlyArrival, {Diag::ScheduleEarlyArrival}},
    {Fault::OverArrival, {Diag::ScheduleOverArrival, Diag::ScheduleEarlyArrival}},
    {Fault::BytesMismatch, {Diag::ScheduleBytes, Diag::ScheduleDeadlock}},
    {Fault::Unfenced, {Diag::ScheduleUnfenced}},
    {Fault::Uninitialised, {Diag::ScheduleUnmade}},
    {Fault::MeetingParties,
     {Diag::ScheduleDeadlock, Diag::ScheduleMixedMeeting, Diag::ScheduleEarlyMeeting}},
    {Fault::Depth, {Diag::ScheduleDeadlock}},
};

bool isOneOf(const std::vector<Fault> &faults, Diag found) {
  return std::ranges::any_of(faults, [&](Fault fault) {
    const auto kinds = kFindings.find(fault);
    return kinds != kFindings.end() &&
           std::ranges::find(kinds->second, found) != kinds->second.end();
  });
}

/// A schedule cannot hang for want of registers: that is the budget's to say.
bool isOfRegisters(const KnownBug &bug) {
  return std::ranges::find(bug.faults, Fault::RegisterBudget) != bug.faults.end();
}

} // namespace

TEST_CASE("every known bug is found, for the right reason, and its repair is proven") {
  for (const KnownBug &bug : knownBugs()) {
    if (isOfRegisters(bug)) continue;
    CAPTURE(bug.id);
    CAPTURE(bug.what);
    const Verdict defective = prove(bug.defective());
    REQUIRE_FALSE(defective.isSafe());
    const Diag found = defective.findings.front().what.kind;
    CAPTURE(info(found).name);
    CHECK(isOneOf(bug.faults, found));
    const Verdict repaired = prove(bug.repaired());
    CAPTURE((repaired.isSafe() ? "" : render(repaired.findings.front().what)));
    CHECK(repaired.isSafe());
  }
}

TEST_CASE("registers that a block does not have are found by the budget") {
  const machine::Machine *machine = machine::findMachine("sm_90a");
  REQUIRE(machine);
  for (const KnownBug &bug : knownBugs()) {
    if (!isOfRegisters(bug)) continue;
    CAPTURE(bug.id);
    Diagnostics diagnostics;
    CHECK_FALSE(checkBudget(bug.defective(), *machine, 1, diagnostics));
    Diagnostics none;
    CHECK_MESSAGE(checkBudget(bug.repaired(), *machine, 1, none), none.render());
  }
}

TEST_CASE("the small schedules are proven") {
  for (const SmallSchedule &schedule : smallSchedules()) {
    CAPTURE(schedule.name);
    const Verdict verdict = prove(schedule.make());
    CAPTURE((verdict.isSafe() ? "" : render(verdict.findings.front().what)));
    CHECK(verdict.isSafe());
    CHECK(verdict.states < 200);
  }
}

namespace {

struct Tally {
  int bothBad = 0, bothGood = 0;
  int missed = 0;   ///< The oracle sees a failure where the checker finds nothing.
  int spurious = 0; ///< The checker refuses what no order of the oracle shows to fail.
  int unseen = 0;   ///< The same, for a fence that is missing: the oracle has no model of them.
};

/// Which memory a fence orders for whom, only the checker knows.
bool isOfFences(const Verdict &verdict) {
  const Diag found = verdict.findings.front().what.kind;
  return found == Diag::ScheduleUnfenced || found == Diag::ScheduleUnmade;
}

/// How many mutants are tried: IMBREX_MUTANTS, or few enough for every day.
int mutants() {
  const char *asked = std::getenv("IMBREX_MUTANTS");
  return asked ? std::atoi(asked) : 1500;
}

/// Compares on mutants of these, and says how often they were of one mind.
Tally compare(const std::vector<SmallSchedule> &bases, int rounds, unsigned seed) {
  std::mt19937 random(seed);
  Tally tally;
  for (int round = 0; round < rounds; ++round) {
    const SmallSchedule &base = bases[static_cast<std::size_t>(round) % bases.size()];
    const auto mutant = mutate(base.make(), random);
    if (!mutant) continue;
    CAPTURE(base.name);
    CAPTURE(mutant->what);
    const auto count = tripsByName(mutant->program, base.trips);
    const Verdict verdict = checkAt(mutant->program, count);
    const bool isSafe = verdict.isSafe();
    const Exploration found =
        explore(mutant->program, count, {.states = 300'000, .untilFirst = true});
    if (!found.complete) continue;
    const bool fails = !found.failures.empty();
    CHECK_FALSE((fails && isSafe));
    tally.missed += fails && isSafe;
    const bool isUnseen = !fails && !isSafe && isOfFences(verdict);
    tally.unseen += isUnseen;
    tally.spurious += !fails && !isSafe && !isUnseen;
    tally.bothBad += fails && !isSafe;
    tally.bothGood += !fails && isSafe;
  }
  return tally;
}

} // namespace

TEST_CASE("checker and oracle agree on mutants, but for what is on the safe side") {
  const Tally tally = compare(smallSchedules(), mutants(), 2026);
  const int compared = tally.bothBad + tally.bothGood + tally.missed + tally.spurious;
  CAPTURE(tally.spurious);
  CAPTURE(tally.unseen);
  CAPTURE(compared);
  CHECK(tally.missed == 0);
  // Arrivals that nobody waits for, waits whose phase cannot be mistaken but in an order of trips
  // that comes later, copies left under way at the end.
  CHECK(tally.spurious * 100 <= compared);
  CHECK(tally.unseen * 50 <= compared);
  CHECK(tally.bothBad * 4 > compared);
  CHECK(tally.bothGood * 4 > compared);
}

TEST_CASE("one warp that stands for several shows what each of them would") {
  const std::vector<SmallSchedule> bases = {
      {"three consumers", [] { return gemm({.depth = 2, .warps = 3}); }, {{"k", {3}}}},
      {"three that copy", [] { return groupedGemm({.depth = 2, .warps = 3}); }, {{"k", {2}}}},
      {"groups of two", [] { return pingPongGemm({.depth = 2, .warps = 2}); }, {{"k", {2}}}},
  };
  const Tally tally = compare(bases, mutants() / 5, 3);
  CHECK(tally.missed == 0);
  CHECK(tally.bothBad > 50);
  CHECK(tally.bothGood > 30);
}

TEST_CASE("what is proven is safe at every small number of trips, what is refused fails at some") {
  std::mt19937 random(11);
  const auto &bases = smallSchedules();
  int proven = 0, refused = 0;
  for (int round = 0; round < 600; ++round) {
    const SmallSchedule &base = bases[static_cast<std::size_t>(round) % bases.size()];
    const auto mutant = mutate(base.make(), random);
    if (!mutant) continue;
    CAPTURE(base.name);
    CAPTURE(mutant->what);
    const Program &program = mutant->program;
    const Verdict verdict = prove(program);
    bool failsSomewhere = false;
    for (std::int32_t outer = 0; outer < 4; ++outer)
      for (std::int32_t inner = 0; inner < 40; ++inner) {
        const auto count = [&](TripsId id, std::int64_t of) -> std::int64_t {
          const std::int64_t trips = program[id].within.valid() ? (inner + of) % 10 : inner % 10;
          const bool isOuter = std::ranges::any_of(
              program.trips, [&](const Trips &other) { return other.within == id; });
          return std::max<std::int64_t>(program[id].least, isOuter ? outer : trips);
        };
        failsSomewhere |= !checkAt(program, count).isSafe();
      }
    if (verdict.isSafe()) CHECK_FALSE(failsSomewhere);
    const bool isUnbounded =
        !verdict.isSafe() && verdict.findings.front().what.kind == Diag::ScheduleUnbounded;
    if (!verdict.isSafe() && !isUnbounded) CHECK(failsSomewhere);
    ++(verdict.isSafe() ? proven : refused);
  }
  CHECK(proven > 60);
  CHECK(refused > 60);
}
