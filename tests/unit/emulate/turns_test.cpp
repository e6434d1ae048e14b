// Schedules of two groups that take turns, as waves run them.

#include "backend/schedule/check/check.h"
#include "backend/schedule/plan/ping_pong.h"
#include "backend/schedule/program/channels.h"
#include "tests/support/schedule_builder.h"
#include "tests/support/turn_loops.h"
#include "tests/unit/emulate/launching.h"
#include "tests/unit/emulate/waves_text.h"

#include <algorithm>
#include <ranges>

using namespace imbrex;
using namespace imbrex::schedule;
using namespace imbrex::testing;
using emulate::Delivery;

namespace {

/// A product's trip: each piece of two is read before products, the second twice. Pieces come into
/// shared memory directly, or through registers.
Program productWork(bool isStaged) {
  ScheduleBuilder build("product");
  const TripsId k = build.trips("k");
  const auto registers = [&](const char *name) {
    return build.buffer({.name = name, .bytes = 256, .space = Space::Registers});
  };
  const BufferId fragment = registers("fragment"), sum = registers("sum");
  const std::array<BufferId, 2> next = {registers("next_a"), registers("next_b")};
  const std::array<BufferId, 2> pieces = {build.buffer({.name = "a", .bytes = 2048, .parts = 4}),
                                          build.buffer({.name = "b", .bytes = 2048, .parts = 4})};
  auto all = build.role("group", 4);
  const QueueId loads = all.queue({.name = "loads"});
  const QueueId shared = all.queue({.name = "shared", .serial = true, .capacity = 15});
  const auto readAndMultiply = [&](BufferId piece, int products) {
    all.issue(shared, {read(piece), write(fragment)});
    for (; products > 0; --products) all.access({read(fragment), read(sum), write(sum)});
  };
  all.access({write(sum)});
  all.forTrips(k, [&] {
    for (const std::size_t piece : {0u, 1u})
      all.issue(loads, {isStaged ? write(next[piece]) : own(write(pieces[piece]))}, 2);
    for (const std::size_t piece : {0u, 1u})
      if (isStaged) all.issue(shared, {read(next[piece]), own(write(pieces[piece]))});
    readAndMultiply(pieces[0], 1);
    readAndMultiply(pieces[1], 1);
    readAndMultiply(pieces[1], 2);
  });
  all.access({read(sum)});
  return build.take();
}

TurnLoop turnsOf(const Program &work, std::int32_t slots, LastCluster last = LastCluster::Whole) {
  std::string why;
  const auto loop = cutIntoClusters(work, QueueId(0), TripsId(0), slots, why, last);
  REQUIRE_MESSAGE(loop, why);
  return *loop;
}

/// What is wrong with a run on an emulated gfx942, whose loads come late.
std::string reportOf(const Program &program, std::int32_t trips, int seeds = 1) {
  const WavesText waves = wavesText(program, trips);
  std::vector<std::int32_t> in = waves.in, out(waves.expected.size());
  Emulation emulation("gfx942", waves.text);
  emulation.threads(waves.threads).warpsMeetAnywhere().array(in).array(out);
  for (int seed = 0; seed < seeds; ++seed)
    for (const Delivery delivery : {Delivery::Late, Delivery::Random}) {
      std::string report = emulation.delivery(delivery).report(static_cast<std::uint64_t>(seed));
      if (!report.empty()) return report;
      if (out != waves.expected) return "other sums than expected";
    }
  return {};
}

/// With so many trips, or fewer.
bool failsWithin(const Program &program, std::int32_t most) {
  const auto fails = [&](std::int32_t trips) { return !reportOf(program, trips).empty(); };
  return fails(most) || std::ranges::any_of(std::views::iota(1, most), fails);
}

Placement bestOf(const TurnLoop &loop) {
  const PlacementSearch search = searchPlacements(loop, {.amongArithmetic = true});
  REQUIRE(search.best);
  return *search.best;
}

} // namespace

TEST_CASE("groups that take turns read what each other has loaded, for any number of trips") {
  for (const std::int32_t slots : {2, 3, 4}) {
    const TurnLoop loop = turnsOf(productWork(false), slots);
    const Program program = programOf(loop, bestOf(loop));
    for (const std::int32_t trips : {0, 1, slots - 1, slots + 1, 2 * slots + 1}) {
      CAPTURE(slots);
      CAPTURE(trips);
      CHECK(reportOf(program, trips, 2) == "");
    }
  }
  for (const LastCluster last : {LastCluster::Whole, LastCluster::Halved})
    for (const std::int32_t stages : {1, 2}) {
      const TurnLoop loop = turnsOf(productWork(true), stages, last);
      for (const std::int32_t trips : {0, 1, 2, 3, 6}) {
        CAPTURE(stages);
        CAPTURE(trips);
        CHECK(reportOf(programOf(loop, bestOf(loop)), trips, 2) == "");
      }
    }
}

TEST_CASE("each wait for loads is as weak as it can be, to the checker and to waves that run") {
  const TurnLoop published = pingPongHalf(/*warps=*/4);
  const Placement inTheory = {{0, 1}, {6, 2}, {5, 2}, {5, 2}};
  const TurnLoop product = turnsOf(productWork(false), 2);
  for (const auto &[loop, placement] :
       {std::pair(published, inTheory), std::pair(product, bestOf(product))}) {
    Program program = programOf(loop, placement);
    const std::int32_t most = mostAhead(loop, placement);
    std::int32_t raised = 0, wrong = 0;
    for (Role &role : program.roles)
      forEachOp(role.body, [&](ScheduleOp &op) {
        if (op.kind != ScheduleOpKind::Drain || program[op.queue].name != "loads") return;
        CAPTURE(op.count);
        ++op.count;
        const bool isWrong = failsWithin(program, 2 * most + 2);
        CHECK(isWrong == !prove(program).isSafe());
        --op.count;
        ++raised;
        wrong += isWrong;
      });
    // What is loaded before a loop can be in flight when it begins, but not where it has one trip.
    CHECK(raised >= 6);
    CHECK(wrong >= raised - 2);
  }
}

TEST_CASE("a meeting can be left out where the checker says so, and nowhere else") {
  for (const bool isStaged : {false, true}) {
    const TurnLoop loop = turnsOf(productWork(isStaged), isStaged ? 1 : 2,
                                  isStaged ? LastCluster::Halved : LastCluster::Whole);
    const Program program = programOf(loop, bestOf(loop));
    std::int32_t wrong = 0;
    for (std::size_t place = 0; place < loop.clusters.size(); ++place) {
      CAPTURE(isStaged);
      CAPTURE(place);
      // The same in both groups, so that each meets as often as the other.
      Program less = program;
      for (Role &role : less.roles) {
        std::vector<ScheduleOp> &trip =
            std::ranges::find(role.body, ScheduleOpKind::For, &ScheduleOp::kind)->body;
        auto meeting = std::ranges::find(trip, ScheduleOpKind::Meet, &ScheduleOp::kind);
        for (std::size_t found = 0; found < place; ++found)
          meeting =
              std::ranges::find(meeting + 1, trip.end(), ScheduleOpKind::Meet, &ScheduleOp::kind);
        trip.erase(meeting);
      }
      const bool isWrong = failsWithin(less, 4);
      CHECK(isWrong == !prove(less).isSafe());
      wrong += isWrong;
    }
    CHECK(wrong > 2);
  }
}

TEST_CASE("slots are filled where they may be, and waves that run find all other places wrong") {
  const auto check = [](const TurnLoop &loop, const Placement &placement,
                        const std::vector<std::int32_t> &aheads) {
    const auto clusters = static_cast<std::int32_t>(loop.clusters.size());
    for (std::size_t piece = 0; piece < placement.size(); ++piece)
      for (std::int32_t cluster = 0; cluster < clusters; ++cluster)
        for (const std::int32_t ahead : aheads) {
          Placement other = placement;
          other[piece] = {cluster, ahead};
          CAPTURE(piece);
          CAPTURE(cluster);
          CAPTURE(ahead);
          CHECK(reportOf(programOf(loop, other), 4).empty() == isSafe(loop, piece, other[piece]));
        }
  };
  const TurnLoop direct = turnsOf(productWork(false), 2);
  check(direct, bestOf(direct), {1, 2});
  for (const LastCluster last : {LastCluster::Whole, LastCluster::Halved}) {
    const TurnLoop staged = turnsOf(productWork(true), 1, last);
    check(staged, bestOf(staged), {0, 1});
  }
}
