#include "backend/schedule/check/check.h"
#include "backend/schedule/plan/ping_pong.h"
#include "backend/schedule/plan/plan.h"
#include "backend/schedule/program/channels.h"
#include "backend/schedule/program/well_formed.h"
#include "llvm/ADT/STLExtras.h"
#include "tests/support/schedule_builder.h"
#include "tests/support/schedule_oracle.h"
#include "tests/support/small_schedules.h"
#include "tests/support/turn_loops.h"
#include "tests/unit/schedule/block_programs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace imbrex;
using namespace imbrex::schedule;
using namespace imbrex::testing;

namespace {

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

/// The drains of a queue, in the loop itself or everywhere.
std::vector<ScheduleOp *> drainsOf(Program &program, std::string_view queue, bool inLoop) {
  std::vector<ScheduleOp *> drains;
  const auto add = [&](ScheduleOp &op) {
    if (op.kind == ScheduleOpKind::Drain && program[op.queue].name == queue) drains.push_back(&op);
  };
  for (Role &role : program.roles)
    for (ScheduleOp &op : role.body)
      if (!inLoop || op.kind == ScheduleOpKind::For) forEachOp(op.body, add);
  return drains;
}

Program withLoopCounts(const TurnLoop &loop, const Placement &placement, std::int32_t count) {
  Program program = programOf(loop, placement);
  for (ScheduleOp *drain : drainsOf(program, "loads", /*inLoop=*/true)) drain->count = count;
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
  const PlacementSearch search =
      searchPlacements(loop, {.amongArithmetic = true, .ahead = {1, 2, 2, 2}});
  CHECK(search.tried == 4096);
  CHECK(search.safe == 126);
  CHECK(search.byLeast ==
        std::map<std::int32_t, std::int64_t>{{0, 10}, {4, 38}, {8, 53}, {12, 25}});
  REQUIRE(search.best);
  CHECK(waitsOf(loop, *search.best) == kTwelve);
}

TEST_CASE("of placements that leave as much, the best gives loads the most time") {
  const TurnLoop loop = pingPongHalf();
  REQUIRE(searchPlacements(loop, {.amongArithmetic = true, .ahead = {1, 2, 2, 2}}).best ==
          placed({0, 6, 5, 5}));
  // A1 has less time than the others. Where it may be loaded two trips ahead, in the last cluster
  // of one, it has more, and as much is left.
  const PlacementSearch search = searchPlacements(loop, {.amongArithmetic = true});
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
      forEachOp(role.body, [&](ScheduleOp &op) {
        if (op.kind != ScheduleOpKind::Drain || program[op.queue].name != "loads") return;
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
  forEachOp(work.roles.front().body, [&](ScheduleOp &op) {
    if (op.kind == ScheduleOpKind::Issue)
      op.cost = op.queue == loads ? Cost{"memory", 700, 32} : Cost{"shared", 60, 60};
    if (op.kind == ScheduleOpKind::Access && op.accesses.size() > 1) op.cost = {"matrix", 100, 100};
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

TEST_CASE("K6: two groups by turns leave as much in flight as the published kernel, or more") {
  for (const std::int32_t slots : {2, 3, 4}) {
    CAPTURE(slots);
    std::string why;
    const auto loop = cutIntoClusters(countedWork(2), QueueId(0), TripsId(0), slots, why);
    REQUIRE_MESSAGE(loop, why);
    CHECK(loop->clusters.size() == 4);
    const PlacementSearch search = searchPlacements(*loop);
    REQUIRE(search.best);
    // There the loads of a trip are 4 entries, and those of all slots but 2 are left.
    for (const auto &[cluster, count] : waitsOf(*loop, *search.best))
      CHECK(count >= 4 * (slots - 2));
    Program program = programOf(*loop, *search.best);
    Diagnostics diagnostics;
    REQUIRE_MESSAGE(verify(program, diagnostics), diagnostics.render());
    REQUIRE(prove(program).isSafe());
    for (ScheduleOp *drain : drainsOf(program, "loads", /*inLoop=*/true)) {
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
  const std::string text = describe(*loop, searchPlacements(*loop));
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
    forEachOp(plan->program.roles.front().body, [&](ScheduleOp &op) {
      if (op.kind != ScheduleOpKind::Drain) return;
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
  CHECK(changed([](Program &, ScheduleOp &loop) { loop.less = 1; }) ==
        "turns are taken in a loop that stands in no other");
  CHECK(changed([](Program &work, ScheduleOp &) { work.roles.front().warps = 7; }) ==
        "the warps make no two equal groups");
  CHECK(changed([](Program &work, ScheduleOp &) { work.queues.front().grouped = true; }) ==
        "loads in groups are not counted one by one");
  CHECK(changed([](Program &, ScheduleOp &loop) {
          loop.body.push_back({.kind = ScheduleOpKind::If, .guard = doneOver(TripsId(0), 1)});
        }) == "a trip's clusters are one after the other");
  CHECK(changed([](Program &, ScheduleOp &loop) {
          loop.body.front().accesses.push_back(loop.body[1].accesses.front());
        }) == "a load is of one piece");
  CHECK(changed([](Program &, ScheduleOp &loop) { std::swap(loop.body[2], loop.body[3]); }) ==
        "a trip begins with what it reads of its loads");
  CHECK(changed([](Program &, ScheduleOp &loop) { loop.body.pop_back(); }) ==
        "reads and arithmetic do not take turns");
  CHECK(changed([](Program &, ScheduleOp &loop) {
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

namespace {

/// The same where each piece goes through registers, and is read in `reads` clusters, each before
/// one product and the last before `last` of them.
Program stagedWork(std::int32_t pieces, std::int32_t reads, std::int32_t last,
                   std::int32_t warps = 8) {
  ScheduleBuilder build("staged");
  const TripsId k = build.trips("k");
  const auto registers = [&](const std::string &name) {
    return build.buffer({.name = name, .bytes = 256, .space = Space::Registers});
  };
  const BufferId fragment = registers("fragment"), sum = registers("sum");
  std::vector<BufferId> tiles, next;
  for (std::int32_t piece = 0; piece < pieces; ++piece) {
    const std::string name = "piece" + std::to_string(piece);
    tiles.push_back(build.buffer({.name = name, .bytes = 32768, .parts = warps}));
    next.push_back(registers("next_" + name));
  }
  auto all = build.role("group", warps);
  const QueueId loads = all.queue({.name = "loads"});
  const QueueId shared = all.queue({.name = "shared", .serial = true, .capacity = 15});
  all.access({write(sum)});
  all.forTrips(k, [&] {
    for (const BufferId into : next) all.issue(loads, {write(into)}, 2);
    for (std::size_t piece = 0; piece < tiles.size(); ++piece)
      all.issue(shared, {schedule::Access{.buffer = next[piece]}, own(write(tiles[piece]))});
    for (std::int32_t cluster = 0; cluster < reads; ++cluster) {
      std::vector<Access> accesses = {write(fragment)};
      for (const BufferId tile : tiles) accesses.push_back(read(tile));
      all.issue(shared, accesses);
      for (std::int32_t product = cluster + 1 < reads ? 1 : last; product > 0; --product)
        all.access({read(fragment), read(sum), write(sum)});
    }
  });
  all.access({read(sum)});
  Program work = build.take();
  forEachOp(work.roles.front().body, [&](ScheduleOp &op) {
    if (op.kind == ScheduleOpKind::Issue)
      op.cost = op.queue == loads ? Cost{"memory", 700, 32} : Cost{"shared", 50, 50};
    if (op.kind == ScheduleOpKind::Access && op.accesses.size() > 1) op.cost = {"matrix", 100, 100};
  });
  return work;
}

TurnLoop cutStaged(const Program &work, LastCluster last, std::int32_t stages) {
  std::string why;
  const auto loop = cutIntoClusters(work, QueueId(0), TripsId(0), stages, why, last);
  REQUIRE_MESSAGE(loop, why);
  return *loop;
}

/// The clusters behind which a trip of the loop meets with nothing of a queue under way, as far as
/// the operations in that cluster say.
std::vector<std::int32_t> clustersDrained(const Program &program, std::string_view queue) {
  std::vector<std::int32_t> clusters;
  for (const ScheduleOp &loop : program.roles.front().body) {
    if (loop.kind != ScheduleOpKind::For) continue;
    std::int32_t cluster = 0;
    bool drained = false;
    for (const ScheduleOp &op : loop.body) {
      drained |= op.kind == ScheduleOpKind::Drain && program[op.queue].name == queue;
      if (op.kind == ScheduleOpKind::Issue && program[op.queue].name == queue) drained = false;
      if (op.kind != ScheduleOpKind::Meet) continue;
      if (drained && cluster % 2 == 0) clusters.push_back(cluster);
      drained = false;
      ++cluster;
    }
  }
  return clusters;
}

} // namespace

TEST_CASE("K6: through registers into one slot, reads and stores end before the meetings behind "
          "clusters 4 and 6 of 8") {
  const Program work = stagedWork(2, 3, 2);
  const TurnLoop loop = cutStaged(work, LastCluster::Halved, 1);
  CHECK(loop.clusters.size() == 8);
  const PlacementSearch search = searchPlacements(loop);
  CHECK(search.tried == 16);
  CHECK(search.safe == 1);
  REQUIRE(search.best == Placement{{6, 1}, {6, 1}});
  CHECK(waitsOf(loop, *search.best) == ClusterWaits{{6, 0}});
  const Program program = programOf(loop, *search.best);
  CHECK(clustersDrained(program, "shared") == std::vector{4, 6});
  CHECK(findingOf(program) == std::nullopt);
  for (const Ring &ring : program.rings) CHECK(ring.depth == 1);
  // And all interleavings of one warp in each group.
  const Program small =
      programOf(cutStaged(stagedWork(1, 3, 2, 2), LastCluster::Halved, 1), {{6, 1}});
  for (const std::int64_t k : {0, 1, 2, 3, 5})
    CHECK(explore(small, tripsByName(small, {{"k", {k}}})).failures.empty());
}

TEST_CASE("the planner lets two groups take turns with a single slot, where no other fits") {
  const Program work = stagedWork(2, 3, 2);
  PlanRequest request = requestFor("sm_75");
  Diagnostics diagnostics;
  const auto plan = planSchedule(work, request, diagnostics);
  REQUIRE_MESSAGE(plan, diagnostics.render());
  CHECK(plan->taken().roles == "two groups by turns, the last products in two");
  CHECK(plan->taken().demand.sharedBytes == 65536); // all that there is
  CHECK(plan->gap() == 1);                          // products without a pause
  CHECK(prove(plan->program).isSafe());
  const std::string why = explain(*plan, request);
  CHECK(why.find("\nstores: piece0 in cluster 6, 1 trip ahead; piece1 in cluster 6, 1 trip ahead; "
                 "each loaded 2 trips before, behind a store; 1 of 16 placements are safe\n"
                 "waits: at least 4 entries are left, at most 8 are in flight\n") !=
        std::string::npos);
  // Where two slots fit, they are no faster, and larger.
  const auto elsewhere = planSchedule(work, requestFor("sm_90a"), diagnostics);
  REQUIRE(elsewhere);
  CHECK(elsewhere->taken().demand.sharedBytes == 65536);
  request.turns = false;
  const auto one = planSchedule(work, request, diagnostics);
  REQUIRE(one);
  CHECK(one->taken().interval.cyclesPerTrip > plan->taken().interval.cyclesPerTrip);
  CHECK(prove(one->program).isSafe());
}

TEST_CASE("turns through registers are proven, and no wait of theirs could be weaker or missing") {
  for (const std::int32_t pieces : {1, 2, 3})
    for (const std::int32_t reads : {1, 2, 3})
      for (const LastCluster last : {LastCluster::Whole, LastCluster::Halved})
        for (const std::int32_t stages : {1, 2, 4}) {
          CAPTURE(pieces);
          CAPTURE(reads);
          CAPTURE(stages);
          const TurnLoop loop = cutStaged(stagedWork(pieces, reads, 3), last, stages);
          const PlacementSearch search = searchPlacements(loop);
          REQUIRE(search.best);
          Program program = programOf(loop, *search.best);
          CHECK(findingOf(program) == std::nullopt);
          // Of two slots, what is stored while nothing more is loaded could be waited for later.
          std::vector<ScheduleOp *> drains = drainsOf(program, "loads", /*inLoop=*/false);
          llvm::append_range(drains, drainsOf(program, "shared", last == LastCluster::Whole));
          CHECK(drains.size() >= 8);
          for (ScheduleOp *drain : drains) {
            CAPTURE(drain->count);
            ++drain->count;
            CHECK_FALSE(prove(program).isSafe());
            --drain->count;
          }
        }
}

TEST_CASE("what is stored at once, and by no queue, needs no wait for its end") {
  Program work = stagedWork(2, 3, 2);
  for (const std::size_t store : {2u, 3u}) {
    ScheduleOp &op = work.roles.front().body[1].body[store];
    op = {.kind = ScheduleOpKind::Access, .accesses = op.accesses, .cost = op.cost};
  }
  Diagnostics diagnostics;
  const auto plan = planSchedule(work, requestFor("sm_75"), diagnostics);
  REQUIRE_MESSAGE(plan, diagnostics.render());
  CHECK(plan->taken().roles == "two groups by turns, the last products in two");
  CHECK(clustersDrained(plan->program, "shared") == std::vector{4});
  CHECK(prove(plan->program).isSafe());
}

TEST_CASE("the checker proves where pieces are stored when they may be there, and only then") {
  Program work = stagedWork(2, 3, 2);
  std::vector<ScheduleOp> &trip = work.roles.front().body[1].body;
  trip[4].accesses.pop_back();                          // The second piece is not read at first,
  trip[8].accesses.erase(trip[8].accesses.begin() + 1); // nor the first one at last.
  for (const LastCluster last : {LastCluster::Whole, LastCluster::Halved}) {
    const TurnLoop loop = cutStaged(work, last, 2);
    const auto clusters = static_cast<std::int32_t>(loop.clusters.size());
    std::int32_t safe = 0;
    for (std::int32_t first = 0; first < clusters; ++first)
      for (std::int32_t second = 0; second < clusters; ++second)
        for (const std::int32_t ahead : {0, 1, 2}) {
          const Placement placement = {{first, 1}, {second, ahead}};
          CAPTURE(first);
          CAPTURE(second);
          CAPTURE(ahead);
          const bool isSafeNow = isSafe(loop, 0, placement[0]) && isSafe(loop, 1, placement[1]);
          CHECK((findingOf(programOf(loop, placement)) == std::nullopt) == isSafeNow);
          safe += isSafeNow;
        }
    CHECK(safe > 0);
  }
}

TEST_CASE("the last products are halved by what they cost") {
  const auto sizes = [](std::int32_t products, std::int32_t firstCycles) {
    Program work = stagedWork(1, 1, products);
    work.roles.front().body[1].body[3].cost.cycles = firstCycles;
    const TurnLoop loop = cutStaged(work, LastCluster::Halved, 1);
    REQUIRE(loop.clusters.size() == 4);
    CHECK(loop.clusters[2].empty());
    return std::pair(loop.clusters[1].size(), loop.clusters[3].size());
  };
  CHECK(sizes(2, 100) == std::pair<std::size_t, std::size_t>(1, 1));
  CHECK(sizes(4, 100) == std::pair<std::size_t, std::size_t>(2, 2));
  CHECK(sizes(5, 100) == std::pair<std::size_t, std::size_t>(2, 3));
  CHECK(sizes(4, 300) == std::pair<std::size_t, std::size_t>(1, 3));
}

TEST_CASE("what cannot be stored by turns says why") {
  const auto changed = [](const auto &change, LastCluster last = LastCluster::Halved) {
    Program work = stagedWork(2, 2, 1);
    change(work, work.roles.front().body[1].body);
    std::string why;
    CHECK_FALSE(cutIntoClusters(work, QueueId(0), TripsId(0), 1, why, last));
    return why;
  };
  CHECK(changed([](Program &, std::vector<ScheduleOp> &) {}) ==
        "a single operation is behind the last read");
  CHECK(changed([](Program &, std::vector<ScheduleOp> &trip) { trip.erase(trip.begin() + 2); }) ==
        "a piece is loaded that nothing stores");
  CHECK(changed([](Program &, std::vector<ScheduleOp> &trip) {
          trip.erase(trip.begin() + 2, trip.begin() + 4);
        }) == "a trip begins with what it reads of its loads");
  CHECK(changed([](Program &, std::vector<ScheduleOp> &trip) { trip[3] = trip[2]; }) ==
        "a store is of one piece");
  CHECK(changed([](Program &, std::vector<ScheduleOp> &trip) {
          trip[4].accesses.push_back(trip[2].accesses.front());
        }) == "a store is of one piece");
  CHECK(changed([](Program &, std::vector<ScheduleOp> &trip) {
          trip[5].accesses.push_back(trip[2].accesses.front());
        }) == "what is loaded into registers is stored before it is read");
  CHECK(changed([](Program &, std::vector<ScheduleOp> &trip) {
          trip[0].accesses = {trip[2].accesses.back()};
          trip.erase(trip.begin() + 2);
        }) == "some loads go through registers, and others do not");
}
