#include "backend/schedule/check/check.h"
#include "backend/schedule/plan/budget.h"
#include "tests/support/schedule_bugs.h"
#include "tests/support/schedule_builder.h"
#include "tests/support/schedule_mutants.h"
#include "tests/support/schedule_oracle.h"
#include "tests/support/schedules.h"
#include "tests/support/small_schedules.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
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
    {Fault::BytesMismatch, {Diag::ScheduleBytes, Diag::ScheduleLateExpect, Diag::ScheduleDeadlock}},
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
  int unfenced = 0; ///< Of those that both find bad: the oracle does so for a fence.
};

/// What the checker refuses though no order of these trips shows it to fail: arrivals for a phase
/// that nobody waits for any more (too many at once, where warps are looked at as one), waits that
/// could take one phase for another where nobody comes so far, and copies that are under way at the
/// end.
bool isOnTheSafeSide(const Verdict &verdict) {
  constexpr std::array kKinds = {Diag::ScheduleEarlyArrival, Diag::ScheduleOverArrival,
                                 Diag::ScheduleParity, Diag::ScheduleLeftInFlight};
  return std::ranges::find(kKinds, verdict.findings.front().what.kind) != kKinds.end();
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
    if (!fails && !isSafe) {
      CAPTURE(info(verdict.findings.front().what.kind).name);
      CHECK(isOnTheSafeSide(verdict));
    }
    tally.spurious += !fails && !isSafe;
    tally.bothBad += fails && !isSafe;
    tally.unfenced += !isSafe && found.failures.contains(Failure::Unfenced);
    tally.bothGood += !fails && isSafe;
  }
  return tally;
}

} // namespace

TEST_CASE("checker and oracle agree on mutants, but for what is on the safe side") {
  const Tally tally = compare(smallSchedules(), mutants(), 2026);
  const int compared = tally.bothBad + tally.bothGood + tally.missed + tally.spurious;
  CAPTURE(tally.spurious);
  CAPTURE(compared);
  CHECK(tally.missed == 0);
  CHECK(tally.spurious * 100 <= compared);
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

namespace {

/// Who of two warps that fill a slot, a role that passes it on and one that reads it by the async
/// proxy executes a fence.
enum class Fences : std::uint8_t { Writers, Between, Reader };

/// Two warps write a slot by themselves, a product reads it; barriers are made by the program.
Program handedOn(Fences who) {
  ScheduleBuilder build("handed_on");
  const TripsId k = build.trips("k");
  const RingId ring = build.ring("ring", 2);
  const BufferId tile = build.buffer({.name = "tile", .ring = ring, .bytes = 16, .parts = 2});
  const BarrierId written = build.barrier("written", ring, 2);
  const BarrierId full = build.barrier("full", ring, 1), empty = build.barrier("empty", ring, 1);
  const MeetingId all = build.meeting("all", 4);
  const auto fence = [&](RoleBuilder &role, Fences here) {
    if (who == here) role.fence();
  };
  auto write = build.role("write", 2);
  const Index p = write.cursor("p", ring);
  write.meet(all);
  write.forTrips(k, [&] {
    write.waitFlipped(empty, p);
    write.access({own(imbrex::testing::write(tile, p))});
    fence(write, Fences::Writers);
    write.arrive(written, p);
    write.advance(p);
  });
  auto pass = build.role("pass");
  const Index b = pass.cursor("b", ring);
  pass.meet(all);
  pass.forTrips(k, [&] {
    pass.wait(written, b);
    fence(pass, Fences::Between);
    pass.arrive(full, b);
    pass.advance(b);
  });
  auto multiply = build.role("multiply");
  const Index c = multiply.cursor("c", ring);
  const QueueId products = multiply.queue({.name = "products", .serial = true, .async = true});
  for (const BarrierId barrier : {full, empty}) multiply.init(barrier);
  multiply.fence();
  multiply.meet(all);
  multiply.forTrips(k, [&] {
    multiply.wait(full, c);
    fence(multiply, Fences::Reader);
    multiply.issue(products, {read(tile, c)});
    multiply.signal(products, empty, c);
    multiply.advance(c);
  });
  return build.take();
}

const std::vector<SmallSchedule> &fencedSchedules() {
  static const std::vector<SmallSchedule> schedules = {
      {"fenced by the writers", [] { return handedOn(Fences::Writers); }, {{"k", {3}}}},
      {"fenced between", [] { return handedOn(Fences::Between); }, {{"k", {3}}}},
      {"fenced by the reader", [] { return handedOn(Fences::Reader); }, {{"k", {3}}}},
      {"descriptor", [] { return descriptor(Version::Repaired); }, {{"tiles", {3}}}},
      {"bulk store", [] { return bulkStore(Version::Repaired); }, {{"tiles", {3}}}},
      {"fenced store", [] { return fencedStore(Version::Repaired); }, {}},
      {"made barriers", [] { return madeBarriers(Version::Repaired); }, {}},
  };
  return schedules;
}

} // namespace

TEST_CASE("checker and oracle agree on fences, whoever executes them") {
  const Tally tally = compare(fencedSchedules(), mutants() / 3, 13);
  CHECK(tally.missed == 0);
  CHECK(tally.unfenced * 12 > tally.bothBad);
  CHECK(tally.spurious * 100 <= tally.bothBad + tally.bothGood);
}

namespace {

struct Proofs {
  int proven = 0, refused = 0;
};

/// Whether some small numbers of trips show what is wrong with a program.
bool failsSomewhere(const Program &program) {
  for (std::int32_t outer = 0; outer < 4; ++outer)
    for (std::int32_t inner = 0; inner < 40; ++inner) {
      const auto count = [&](TripsId id, std::int64_t of) -> std::int64_t {
        const std::int64_t trips = program[id].within.valid() ? (inner + of) % 10 : inner % 10;
        const bool isOuter = std::ranges::any_of(
            program.trips, [&](const Trips &other) { return other.within == id; });
        return std::max<std::int64_t>(program[id].least, isOuter ? outer : trips);
      };
      if (!checkAt(program, count).isSafe()) return true;
    }
  return false;
}

/// Holds proofs of mutants of these against single numbers of trips.
Proofs compareProofs(const std::vector<SmallSchedule> &bases, int rounds, unsigned seed) {
  std::mt19937 random(seed);
  Proofs proofs;
  for (int round = 0; round < rounds; ++round) {
    const SmallSchedule &base = bases[static_cast<std::size_t>(round) % bases.size()];
    const auto mutant = mutate(base.make(), random);
    if (!mutant) continue;
    CAPTURE(base.name);
    CAPTURE(mutant->what);
    const Verdict verdict = prove(mutant->program);
    const bool fails = failsSomewhere(mutant->program);
    if (verdict.isSafe()) CHECK_FALSE(fails);
    const bool isUnbounded =
        !verdict.isSafe() && verdict.findings.front().what.kind == Diag::ScheduleUnbounded;
    if (!verdict.isSafe() && !isUnbounded) CHECK(fails);
    ++(verdict.isSafe() ? proofs.proven : proofs.refused);
  }
  return proofs;
}

} // namespace

TEST_CASE("what is proven is safe at every small number of trips, what is refused fails at some") {
  const Proofs proofs = compareProofs(smallSchedules(), 600, 11);
  CHECK(proofs.proven > 60);
  CHECK(proofs.refused > 60);
}

TEST_CASE("so it is where it depends on fences") {
  const Proofs proofs = compareProofs(fencedSchedules(), 200, 12);
  CHECK(proofs.proven > 20);
  CHECK(proofs.refused > 60);
}
