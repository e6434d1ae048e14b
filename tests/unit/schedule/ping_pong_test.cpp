#include "backend/schedule/channels.h"
#include "backend/schedule/check.h"
#include "backend/schedule/ping_pong.h"
#include "backend/schedule/plan.h"
#include "backend/schedule/well_formed.h"
#include "tests/support/schedule_builder.h"
#include "tests/unit/schedule/block_programs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace imbrex;
using namespace imbrex::schedule;
using namespace imbrex::testing;

namespace {

/// The half of a ping-pong product for CDNA 3 and 4, as block_programs.h has two of: four blocks of
/// a cluster of memory and one of arithmetic. Half of A's rows is one group's, and B both groups'.
TurnLoop pingPongHalf() {
  ScheduleBuilder build("ping_pong");
  const TripsId k = build.trips("k");
  TurnLoop loop;
  auto all = build.role("group", 8);
  loop.loads = all.queue({.name = "loads", .capacity = 63});
  const QueueId reads = all.queue({.name = "reads", .capacity = 15});
  const auto piece = [&](const std::string &name, std::array<bool, 2> readBy) {
    const BufferId buffer = build.buffer({.name = name, .bytes = 16384, .parts = 8});
    loop.pieces.push_back({.buffer = buffer, .entries = 4, .readBy = readBy});
    loop.issues.push_back(
        {.kind = OpKind::Issue, .accesses = {own(write(buffer))}, .count = 4, .queue = loop.loads});
    return buffer;
  };
  const BufferId a1 = piece("A1", {false, true}), a0 = piece("A0", {true, false});
  const BufferId b0 = piece("B0", {true, true}), b1 = piece("B1", {true, true});
  all.forTrips(k, [] {});
  loop.work = build.take();
  loop.trips = k;
  loop.readsEndLate = true;
  const auto fragments = [&](const std::vector<BufferId> &of) {
    std::vector<Op> ops;
    for (const BufferId buffer : of)
      ops.push_back({.kind = OpKind::Issue, .accesses = {read(buffer)}, .queue = reads});
    return ops;
  };
  loop.clusters = {
      fragments({b0, b1, a0, a1}), {}, fragments({b0, b1}), {}, fragments({a0, a1}), {}, {}, {}};
  return loop;
}

/// Of A1, A0, B0 and B1: positions 2b and 2b + 1 are before and behind the meeting of block b.
Placement placed(std::array<std::int32_t, 4> cluster,
                 std::array<std::int32_t, 4> ahead = {1, 2, 2, 2}) {
  Placement placement;
  for (std::size_t i = 0; i < 4; ++i) placement.push_back({cluster[i], ahead[i]});
  return placement;
}

/// Where a block program has the loads of its first half.
Placement placementOf(const PipelineProgram &program) {
  const auto [other, ownA, ownB0, ownB1] = loadsOf(0);
  Placement placement;
  for (const OpDesc &load : {other, ownA, ownB0, ownB1})
    for (std::int32_t block = 0; block < 4; ++block) {
      const MmaBlock &at = program.blocks[static_cast<std::size_t>(block)];
      if (at.globalLoad == load || at.globalLoad1 == load)
        placement.push_back({2 * block, load == other ? 1 : 2});
    }
  return placement;
}

/// What the checker finds first.
std::optional<Diag> findingOf(const Program &program) {
  Diagnostics diagnostics;
  REQUIRE_MESSAGE(verify(program, diagnostics), diagnostics.render());
  const Verdict verdict = prove(program);
  if (verdict.isSafe()) return std::nullopt;
  return verdict.findings.front().what.kind;
}

/// The drains of loads in the loop itself.
std::vector<Op *> loopDrains(Program &program) {
  std::vector<Op *> drains;
  for (Role &role : program.roles)
    forEachOp(role.body, [&](Op &op) {
      if (op.kind != OpKind::For) return;
      for (Op &inner : op.body)
        if (inner.kind == OpKind::Drain && program[inner.queue].name == "loads")
          drains.push_back(&inner);
    });
  return drains;
}

Program withLoopCounts(const TurnLoop &loop, const Placement &placement, std::int32_t count) {
  Program program = programOf(loop, placement);
  for (Op *drain : loopDrains(program)) drain->count = count;
  return program;
}

const ClusterWaits kTwelve = {{6, 12}};

} // namespace

TEST_CASE("the published ping-pong programs overwrite what is still read, whatever they wait for") {
  const TurnLoop loop = pingPongHalf();
  CHECK(placementOf(onePerBlock()) == placed({0, 4, 2, 6}));
  for (const Placement &placement : {placementOf(onePerBlock()), placementOf(oneNoneTwoOne())}) {
    CHECK(waitsOf(loop, placement) ==
          kTwelve); // the counts that their formula says are the largest
    for (const std::int32_t count : {0, 9, 12})
      CHECK(findingOf(withLoopCounts(loop, placement, count)) == Diag::ScheduleOverwriteRace);
  }
}

TEST_CASE("ping-pong programs that are safe in theory are proven") {
  const TurnLoop loop = pingPongHalf();
  // One load in the first block, three in the last; both of B behind the third block's meeting.
  for (const Placement &placement : {placed({0, 6, 6, 6}), placed({0, 6, 5, 5})}) {
    CHECK(waitsOf(loop, placement) == kTwelve);
    CHECK(findingOf(programOf(loop, placement)) == std::nullopt);
    for (const std::int32_t count : {9, 10, 11, 12})
      CHECK(findingOf(withLoopCounts(loop, placement, count)) == std::nullopt);
    for (const std::int32_t count : {13, 16, 17})
      CHECK(findingOf(withLoopCounts(loop, placement, count)) == Diag::ScheduleReadRace);
  }
  // All for the next half, and none left in flight.
  const Placement other = placed({0, 2, 4, 6}, {1, 1, 1, 1});
  CHECK(waitsOf(loop, other) == ClusterWaits{{6, 0}});
  CHECK(findingOf(programOf(loop, other)) == std::nullopt);
}

TEST_CASE("of the 4096 placements of a ping-pong half, 126 are safe, and 25 leave 12 in flight") {
  const TurnLoop loop = pingPongHalf();
  const PlacementSearch search = searchPlacements(loop, {.ahead = {1, 2, 2, 2}});
  CHECK(search.tried == 4096);
  CHECK(search.safe == 126);
  CHECK(search.byLeast ==
        std::map<std::int32_t, std::int64_t>{{0, 10}, {4, 38}, {8, 53}, {12, 25}});
  REQUIRE(search.best);
  CHECK(waitsOf(loop, *search.best) == kTwelve);
}

TEST_CASE("of placements that leave as much, the best gives loads the most time") {
  const TurnLoop loop = pingPongHalf();
  REQUIRE(searchPlacements(loop, {.ahead = {1, 2, 2, 2}}).best == placed({0, 6, 5, 5}));
  // A1 has less time than the others. Where it may be loaded two trips ahead, in the last cluster
  // of one, it has more, and as much is left.
  const PlacementSearch search = searchPlacements(loop);
  REQUIRE(search.best);
  CHECK(search.best->front() == LoadPlace{7, 2});
  CHECK(waitsOf(loop, *search.best) == kTwelve);
  CHECK(findingOf(programOf(loop, *search.best)) == std::nullopt);
}

TEST_CASE("counts by arithmetic are those that are counted") {
  const TurnLoop loop = pingPongHalf();
  std::mt19937 random(9);
  for (int i = 0; i < 300; ++i) {
    TurnLoop other = loop;
    other.slots = 2 + i % 3;
    Placement placement;
    for (std::size_t piece = 0; piece < 4; ++piece) {
      other.pieces[piece].entries = 1 + static_cast<std::int32_t>(random() % 4);
      do {
        placement.resize(piece);
        placement.push_back(
            {static_cast<std::int32_t>(random() % 8), 1 + static_cast<std::int32_t>(random() % 4)});
      } while (!isSafe(other, piece, placement.back()));
    }
    CHECK(waitsOf(other, placement) == waitsByLeft(other, placement).back());
  }
}

TEST_CASE("what the search says of a placement, the checker says") {
  const TurnLoop loop = pingPongHalf();
  const Placement safe = placed({0, 6, 6, 6});
  for (std::size_t piece = 0; piece < 4; ++piece)
    for (std::int32_t cluster = 0; cluster < 8; ++cluster)
      for (const std::int32_t ahead : {1, 2}) {
        CAPTURE(piece);
        CAPTURE(cluster);
        CAPTURE(ahead);
        Placement placement = safe;
        placement[piece] = {cluster, ahead};
        CHECK((findingOf(programOf(loop, placement)) == std::nullopt) ==
              isSafe(loop, piece, placement[piece]));
      }
}

TEST_CASE(
    "the checker proves a placement when each of its loads is where it may be, and only then") {
  const TurnLoop loop = pingPongHalf();
  for (std::int32_t number = 0; number < 4096; number += 5) {
    const Placement placement =
        placed({number & 7, (number >> 3) & 7, (number >> 6) & 7, number >> 9});
    CAPTURE(number);
    bool safe = true;
    for (std::size_t piece = 0; piece < 4; ++piece) safe &= isSafe(loop, piece, placement[piece]);
    CHECK((findingOf(programOf(loop, placement)) == std::nullopt) == safe);
  }
}

TEST_CASE("every wait of a placement that is safe is as weak as it can be, in the last trips too") {
  const TurnLoop loop = pingPongHalf();
  std::mt19937 random(5);
  const auto oneOf = [&](std::initializer_list<std::int32_t> some) {
    return some.begin()[random() % some.size()];
  };
  for (int i = 0; i < 12; ++i) {
    const Placement placement =
        placed({oneOf({0, 1, 2, 3, 4, 5, 6}), oneOf({6, 7}), oneOf({5, 6, 7}), oneOf({5, 6, 7})});
    Program program = programOf(loop, placement);
    REQUIRE(findingOf(program) == std::nullopt);
    for (Role &role : program.roles)
      forEachOp(role.body, [&](Op &op) {
        if (op.kind != OpKind::Drain || program[op.queue].name != "loads") return;
        CAPTURE(op.count);
        ++op.count;
        CHECK_FALSE(prove(program).isSafe());
        --op.count;
      });
  }
}

namespace {

/// A product of matrices for eight warps, of which each loads a part of two pieces of the tile.
Program countedWork(std::int32_t pieces, std::int32_t entries = 2) {
  ScheduleBuilder build("counted");
  const TripsId k = build.trips("k");
  const BufferId fragment =
      build.buffer({.name = "fragment", .bytes = 256, .space = Space::Registers});
  const BufferId sum = build.buffer({.name = "sum", .bytes = 256, .space = Space::Registers});
  std::vector<BufferId> tiles;
  for (std::int32_t piece = 0; piece < pieces; ++piece)
    tiles.push_back(
        build.buffer({.name = "piece" + std::to_string(piece), .bytes = 8192, .parts = 8}));
  auto all = build.role("group", 8);
  const QueueId loads = all.queue({.name = "loads"});
  const QueueId reads = all.queue({.name = "reads", .capacity = 15});
  all.access({write(sum)});
  all.forTrips(k, [&] {
    for (const BufferId tile : tiles) all.issue(loads, {own(write(tile))}, entries);
    for (const BufferId tile : tiles) {
      all.issue(reads, {read(tile), write(fragment)});
      all.access({read(fragment), read(sum), write(sum)});
    }
  });
  all.access({read(sum)});
  Program work = build.take();
  forEachOp(work.roles.front().body, [&](Op &op) {
    if (op.kind == OpKind::Issue)
      op.cost = op.queue == loads ? Cost{"memory", 700, 32} : Cost{"shared", 60, 60};
    if (op.kind == OpKind::Access && op.accesses.size() > 1) op.cost = {"matrix", 100, 100};
  });
  return work;
}

PlanRequest requestFor(std::string_view machine) {
  const machine::Machine *found = machine::findMachine(machine);
  REQUIRE(found);
  return {.machine = *found, .loop = TripsId(0), .trips = {16}, .warps = 8, .turns = true};
}

std::string refusalOf(const Program &work) {
  std::string why;
  CHECK_FALSE(cutIntoClusters(work, QueueId(0), TripsId(0), 2, why));
  return why;
}

} // namespace

// Where tiles go through registers into a single slot instead, nothing is counted: reads and writes
// are drained before the groups meet, as in the repair of T45 (tests/support/schedule_bugs.cpp).
TEST_CASE("K6: two groups by turns leave as much in flight as the published kernel, or more") {
  for (const std::int32_t slots : {2, 3, 4}) {
    CAPTURE(slots);
    std::string why;
    const auto loop = cutIntoClusters(countedWork(2), QueueId(0), TripsId(0), slots, why);
    REQUIRE_MESSAGE(loop, why);
    CHECK(loop->clusters.size() == 4);
    const PlacementSearch search = searchPlacements(*loop, {.amongArithmetic = false});
    REQUIRE(search.best);
    // There the loads of a trip are 4 entries, and those of all slots but 2 are left.
    for (const auto &[cluster, count] : waitsOf(*loop, *search.best))
      CHECK(count >= 4 * (slots - 2));
    Program program = programOf(*loop, *search.best);
    Diagnostics diagnostics;
    REQUIRE_MESSAGE(verify(program, diagnostics), diagnostics.render());
    REQUIRE(prove(program).isSafe());
    for (Op *drain : loopDrains(program)) {
      ++drain->count;
      CHECK_FALSE(prove(program).isSafe());
      --drain->count;
    }
  }
}

TEST_CASE("the planner lets two groups take turns where it may, and that is faster") {
  const Program work = countedWork(2);
  PlanRequest request = requestFor("sm_90a");
  Diagnostics diagnostics;
  const auto turns = planSchedule(work, request, diagnostics);
  REQUIRE_MESSAGE(turns, diagnostics.render());
  CHECK(turns->taken().roles == "two groups by turns");
  CHECK(turns->program.roles.size() == 2);
  CHECK(turns->program.meetings.size() == 1);          // and no other ones within a group
  CHECK(turns->taken().interval.cyclesPerTrip == 200); // of products alone
  const std::string why = explain(*turns, request);
  CHECK(
      why.find("\nloads: piece0 in cluster 2, 5 trips ahead; piece1 in cluster 0, 4 trips ahead; "
               "4 of 4 placements are safe\nwaits: at least 16 entries are left, at most 18 are in "
               "flight\n") != std::string::npos);
  CHECK(prove(turns->program).isSafe());
  request.turns = false;
  const auto one = planSchedule(work, request, diagnostics);
  REQUIRE(one);
  CHECK(one->taken().roles == "compute");
  CHECK(one->taken().interval.cyclesPerTrip == 320); // reads and products, one after the other
}

TEST_CASE("more entries in flight than warps were seen to bear are told") {
  std::string why;
  const auto loop = cutIntoClusters(countedWork(2, 4), QueueId(0), TripsId(0), 5, why);
  REQUIRE(loop);
  const std::string text = describe(*loop, searchPlacements(*loop, {.amongArithmetic = false}));
  CHECK(text.ends_with("at least 32 entries are left, at most 36 are in flight, where warps were "
                       "seen to stall from 24 on"));
}

TEST_CASE("four waves without turns read what is proven to be there, by the weakest waits") {
  for (const std::int32_t pieces : {2, 3}) {
    Program work = countedWork(pieces);
    for (Buffer &buffer : work.buffers) buffer.parts = buffer.parts > 1 ? 4 : 1;
    PlanRequest request = requestFor("sm_90a");
    request.warps = 4;
    request.turns = false;
    Diagnostics diagnostics;
    auto plan = planSchedule(work, request, diagnostics);
    REQUIRE_MESSAGE(plan, diagnostics.render());
    REQUIRE(prove(plan->program).isSafe());
    forEachOp(plan->program.roles.front().body, [&](Op &op) {
      if (op.kind != OpKind::Drain) return;
      ++op.count;
      CHECK_FALSE(prove(plan->program).isSafe());
      --op.count;
    });
  }
}

TEST_CASE("what is no work for turns says why") {
  const auto changed = [](const auto &change) {
    Program work = countedWork(2);
    change(work, work.roles.front().body[1]);
    return refusalOf(work);
  };
  CHECK(changed([](Program &, Op &loop) { loop.less = 1; }) ==
        "turns are taken in a loop that stands in no other");
  CHECK(changed([](Program &work, Op &) { work.roles.front().warps = 7; }) ==
        "the warps make no two equal groups");
  CHECK(changed([](Program &work, Op &) { work.queues.front().grouped = true; }) ==
        "loads in groups are not counted one by one");
  CHECK(changed([](Program &, Op &loop) {
          loop.body.push_back({.kind = OpKind::If, .guard = doneOver(TripsId(0), 1)});
        }) == "a trip's clusters are one after the other");
  CHECK(changed([](Program &, Op &loop) {
          loop.body.front().accesses.push_back(loop.body[1].accesses.front());
        }) == "a load is of one piece");
  CHECK(changed([](Program &, Op &loop) { std::swap(loop.body[2], loop.body[3]); }) ==
        "a trip begins with what it reads of its loads");
  CHECK(changed([](Program &, Op &loop) { loop.body.pop_back(); }) ==
        "reads and arithmetic do not take turns");
  CHECK(changed([](Program &, Op &loop) {
          loop.body.erase(loop.body.begin() + 4, loop.body.end());
        }) == "a piece is loaded that nothing reads");
  Program odd = countedWork(2);
  PlanRequest request = requestFor("sm_90a");
  odd.roles.front().body[1].body.pop_back();
  Diagnostics diagnostics;
  const auto plan = planSchedule(odd, request, diagnostics);
  REQUIRE(plan);
  CHECK(plan->candidates.back().refused == "reads and arithmetic do not take turns");
}
