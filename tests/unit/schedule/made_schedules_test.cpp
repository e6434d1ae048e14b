#include "backend/schedule/check/check.h"
#include "backend/schedule/plan/drains.h"
#include "backend/schedule/plan/prefetch.h"
#include "backend/schedule/plan/split_roles.h"
#include "backend/schedule/plan/synchronise.h"
#include "backend/schedule/program/channels.h"
#include "backend/schedule/program/program_text.h"
#include "backend/schedule/program/well_formed.h"
#include "tests/support/schedule_builder.h"
#include "tests/support/schedules.h"
#include "tests/support/without_barriers.h"
#include "tests/unit/schedule/works.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace imbrex;
using namespace imbrex::schedule;
using namespace imbrex::testing;

namespace {

Program ordered(Program program, const QueuePlan &queue) {
  Diagnostics diagnostics;
  const std::vector<QueuePlan> queues(program.queues.size(), queue);
  auto safe = addBarriers(std::move(program), queues, diagnostics);
  REQUIRE_MESSAGE(safe, diagnostics.render());
  return addDrains(std::move(*safe));
}

Program splitWork(const Program &work, const RoleSplit &split, std::int32_t slots) {
  Diagnostics diagnostics;
  auto program = splitRoles(work, split, diagnostics);
  REQUIRE_MESSAGE(program, diagnostics.render());
  for (Ring &ring : program->rings) ring.depth = slots;
  return std::move(*program);
}

const RoleSplit kThreeRoles = {.roles = {{"load"}, {"bias"}, {"compute", 8}},
                               .roleOf = {2, 0, 0, 2, 2, 1, 2}};
const RoleSplit kFourRoles = {.roles = {{"load"}, {"bias"}, {"multiply"}, {"finish", 4}},
                              .roleOf = {0, 0, 2, 1, 3}};

int countOf(const Program &program, ScheduleOpKind kind) {
  int count = 0;
  for (const Role &role : program.roles)
    forEachOp(role.body, [&](const ScheduleOp &op) { count += op.kind == kind; });
  return count;
}

} // namespace

TEST_CASE("a product with bias by three roles has the barriers of the books, and is proven") {
  const Program program = ordered(splitWork(gemmWork(false), kThreeRoles, 2), {.inFlight = 1});
  CHECK(arrivalsOf(program, "A_B.full") == 1);
  CHECK(arrivalsOf(program, "A_B.empty") == 8);
  CHECK(arrivalsOf(program, "bias.full") == 1);
  CHECK(arrivalsOf(program, "bias.empty") == 8);
  CHECK(program.rings.size() == 2); // the sum stays in the registers of who computes it
  CHECK(prove(program).isSafe());
}

TEST_CASE("with a role for the tensor core the result is a ring, and nobody drains for it") {
  const Program program = ordered(splitWork(gemmWork(true), kFourRoles, 2), {.signals = true});
  CHECK(arrivalsOf(program, "A_B.empty") == 1); // the queue arrives, once for all products
  CHECK(arrivalsOf(program, "sum.full") == 1);
  CHECK(arrivalsOf(program, "sum.empty") == 4);
  CHECK(countOf(program, ScheduleOpKind::Drain) == 0);
  CHECK(prove(program).isSafe());
}

TEST_CASE("what is made is well formed, and safe at every depth that is deep enough") {
  for (std::int32_t slots = 1; slots <= 5; ++slots)
    for (std::int32_t inFlight = 0; inFlight <= 3; ++inFlight) {
      CAPTURE(slots);
      CAPTURE(inFlight);
      const Program program =
          ordered(splitWork(gemmWork(false), kThreeRoles, slots), {.inFlight = inFlight});
      Diagnostics diagnostics;
      CHECK_MESSAGE(verify(program, diagnostics), diagnostics.render());
      CHECK(prove(program).isSafe() == (slots > inFlight));
    }
}

TEST_CASE("the barriers of schedules by hand come out again of what they do") {
  const auto arrivals = [](const Program &program) {
    std::vector<std::int32_t> all;
    for (const Barrier &barrier : program.barriers) all.push_back(barrier.arrivals);
    std::ranges::sort(all);
    return all;
  };
  const auto comesOutAgain = [&](const Program &byHand, const QueuePlan &queue) {
    const Program made = ordered(withoutBarriers(byHand), queue);
    CAPTURE(print(made));
    CHECK(arrivals(made) == arrivals(byHand));
    CHECK(prove(made).isSafe());
  };
  comesOutAgain(gemm({.persistent = true}), {.inFlight = 1});
  comesOutAgain(biasGemm(), {.inFlight = 1});
  comesOutAgain(tensorGemm(), {.signals = true});
  comesOutAgain(attention({.turns = false}), {.inFlight = 0});
}

TEST_CASE("nothing that orders a made schedule can be left out") {
  for (const bool tensor : {false, true}) {
    const Program program =
        tensor ? ordered(splitWork(gemmWork(true), kFourRoles, 2), {.signals = true})
               : ordered(splitWork(gemmWork(false), kThreeRoles, 2), {.inFlight = 1});
    Program without = program;
    for (Role &role : without.roles) {
      const auto leaveOut = [&](auto &self, std::vector<ScheduleOp> &body) -> void {
        for (std::size_t i = 0; i < body.size(); ++i) {
          self(self, body[i].body);
          const std::uint16_t fields = info(body[i].kind).fields;
          const bool orders = body[i].accesses.empty() && !(fields & (kLoop | kGuard | kCursor)) &&
                              body[i].kind != ScheduleOpKind::Commit;
          if (!orders) continue;
          const ScheduleOp op = body[i];
          body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
          CAPTURE(role.name);
          CAPTURE(info(op.kind).mnemonic);
          CAPTURE(i);
          CHECK_FALSE(prove(without).isSafe());
          body.insert(body.begin() + static_cast<std::ptrdiff_t>(i), op);
        }
      };
      leaveOut(leaveOut, role.body);
    }
  }
}

TEST_CASE("a value that goes from one trip to the next cannot go to another role") {
  ScheduleBuilder build("carried");
  const TripsId k = build.trips("k");
  const BufferId x = build.buffer({.name = "x", .bytes = 16});
  auto all = build.role("all");
  all.forTrips(k, [&] {
    all.access({read(x)});
    all.access({write(x)});
  });
  Diagnostics diagnostics;
  CHECK_FALSE(splitRoles(build.take(), {.roles = {{"a"}, {"b"}}, .roleOf = {0, 1}}, diagnostics));
  CHECK(diagnostics.all().front().kind == Diag::ScheduleCarriedBetweenRoles);
}

namespace {

/// A state that `a` reads in each step and `b` renews, tile after tile; `a` may want the last one.
Program stateWork(bool isWanted) {
  ScheduleBuilder build("state");
  const TripsId tiles = build.trips("tiles");
  const TripsId k = build.trips("k", tiles);
  const BufferId state = build.buffer({.name = "state", .bytes = 4, .space = Space::Registers});
  const BufferId result = build.buffer({.name = "result", .bytes = 64, .parts = 2});
  auto all = build.role("all", 2);
  all.forTrips(tiles, [&] {
    all.access({write(state)});
    all.forTrips(k, [&] {
      all.access({read(state), own(write(result))});
      all.access({read(result)});
      all.access({write(state)});
    });
    if (isWanted) all.access({read(state)});
  });
  return build.take();
}

RoleSplit stateSplit(bool isWanted) {
  RoleSplit split = {.roles = {{"a", 2}, {"b"}}, .roleOf = {1, 0, 1, 1}};
  if (isWanted) split.roleOf.push_back(0);
  return split;
}

} // namespace

TEST_CASE(
    "a value that one role renews for another's next trip has a use for each, and the first") {
  for (const bool isWanted : {false, true})
    for (const std::int32_t slots : {1, 2, 3}) {
      CAPTURE(isWanted);
      CAPTURE(slots);
      const Program split = splitWork(stateWork(isWanted), stateSplit(isWanted), slots);
      CHECK(countOf(split, ScheduleOpKind::Access) == 5); // with one of `a` behind the loop
      const Program program = ordered(split, {});
      Diagnostics diagnostics;
      CHECK_MESSAGE(verify(program, diagnostics), diagnostics.render());
      CHECK(arrivalsOf(program, "state.full") == 1);
      CHECK(arrivalsOf(program, "state.empty") == 2);
      const Verdict verdict = prove(program);
      const std::string why = verdict.isSafe() ? "" : render(verdict.findings.front().what);
      CHECK_MESSAGE(verdict.isSafe(), why);
      for (std::size_t role = 0; role < 2; ++role) {
        Program without = program; // what begins or ends a use is not to be left out
        std::vector<ScheduleOp> &tile = without.roles[role].body.front().body;
        const auto advance = std::ranges::find(tile, ScheduleOpKind::Advance, &ScheduleOp::kind);
        REQUIRE(advance != tile.end());
        tile.erase(advance);
        CHECK_FALSE(prove(without).isSafe());
      }
    }
}

TEST_CASE("what a role writes again in any other way stays within a role") {
  const auto isRefused = [](const auto &change) {
    Program work = stateWork(false);
    RoleSplit split = stateSplit(false);
    change(work.roles.front().body.front().body, split);
    Diagnostics diagnostics;
    const bool refused = !splitRoles(work, split, diagnostics);
    if (refused) CHECK(diagnostics.all().front().kind == Diag::ScheduleCarriedBetweenRoles);
    return refused;
  };
  CHECK_FALSE(isRefused([](std::vector<ScheduleOp> &, RoleSplit &) {}));
  CHECK(isRefused([](std::vector<ScheduleOp> &tile, RoleSplit &split) { // no first content
    tile.erase(tile.begin());
    split.roleOf.erase(split.roleOf.begin());
  }));
  CHECK(isRefused(
      [](std::vector<ScheduleOp> &tile, RoleSplit &split) { // nor one, but the last is wanted
        tile.erase(tile.begin());
        tile.push_back({.kind = ScheduleOpKind::Access, .accesses = {read(BufferId(0))}});
        split.roleOf = {0, 1, 1, 0};
      }));
  CHECK(isRefused([](std::vector<ScheduleOp> &tile, RoleSplit &split) { // written before it is read
    std::ranges::rotate(tile[1].body, tile[1].body.end() - 1);
    split.roleOf = {1, 1, 0, 1};
  }));
  CHECK(isRefused([](std::vector<ScheduleOp> &tile, RoleSplit &split) { // written behind the loop
    tile.push_back(tile[0]);
    split.roleOf.push_back(1);
  }));
  CHECK(isRefused([](std::vector<ScheduleOp> &tile, RoleSplit &) { // renewed from itself
    tile[1].body[2].accesses.push_back(read(BufferId(0)));
  }));
  CHECK(isRefused(
      [](std::vector<ScheduleOp> &tile, RoleSplit &) { // read in one loop and renewed in another
        ScheduleOp again = tile[1];
        again.body = {tile[1].body.back()};
        tile[1].body.pop_back();
        tile.push_back(again);
      }));
}

TEST_CASE("roles are made of a sequence alone, and a ring has one producer") {
  const Program split = splitWork(gemmWork(false), kThreeRoles, 2);
  Diagnostics diagnostics;
  CHECK_FALSE(splitRoles(split, kThreeRoles, diagnostics));
  CHECK_FALSE(prefetch(split, QueueId(0), TripsId(0), 2, diagnostics));
  Program twoWriters = split;
  twoWriters.roles[2].body.front().accesses.push_back(
      {.buffer = BufferId(0), .index = {CursorId(0)}, .writes = true});
  CHECK_FALSE(addBarriers(twoWriters, {{}}, diagnostics));
  CHECK(diagnostics.all()[0].kind == Diag::ScheduleNotSequential);
  CHECK(diagnostics.all()[1].kind == Diag::ScheduleNotSequential);
  CHECK(diagnostics.all()[2].kind == Diag::ScheduleTwoProducers);
}

TEST_CASE("copies in a loop within one use have bytes that nobody can expect") {
  ScheduleBuilder build("uncounted");
  const TripsId tiles = build.trips("tiles");
  const TripsId k = build.trips("k", tiles);
  const BufferId x = build.buffer({.name = "x", .bytes = 16});
  auto all = build.role("all");
  all.forTrips(tiles, [&] {
    all.forTrips(k, [&] { all.copy({write(x)}, {}, {}, 16); });
    all.access({read(x)});
  });
  Diagnostics diagnostics;
  const auto split =
      splitRoles(build.take(), {.roles = {{"load"}, {"use"}}, .roleOf = {0, 1}}, diagnostics);
  REQUIRE(split);
  CHECK_FALSE(addBarriers(*split, {}, diagnostics));
  CHECK(diagnostics.all().front().kind == Diag::ScheduleUncountedBytes);
}

namespace {

Program streamed(bool grouped, std::int32_t warps, std::int32_t slots) {
  Diagnostics diagnostics;
  auto ahead = prefetch(streamWork(grouped, warps), QueueId(0), TripsId(0), slots, diagnostics);
  REQUIRE_MESSAGE(ahead, diagnostics.render());
  return addDrains(std::move(*ahead));
}

} // namespace

TEST_CASE("streams are safe at every depth, and no drain could be weaker and no meeting missing") {
  for (const bool grouped : {true, false})
    for (const std::int32_t warps : {1, 4})
      for (std::int32_t slots = 1; slots <= 5; ++slots) {
        CAPTURE(grouped);
        CAPTURE(warps);
        CAPTURE(slots);
        Program program = streamed(grouped, warps, slots);
        Diagnostics diagnostics;
        CHECK_MESSAGE(verify(program, diagnostics), diagnostics.render());
        REQUIRE(prove(program).isSafe());
        std::vector<ScheduleOp *> drains;
        forEachOp(program.roles.front().body, [&](ScheduleOp &op) {
          if (op.kind == ScheduleOpKind::Drain) drains.push_back(&op);
        });
        for (ScheduleOp *drain : drains) {
          CAPTURE(drain->count);
          ++drain->count;
          CHECK_FALSE(prove(program).isSafe());
          --drain->count;
        }
      }
}

TEST_CASE("streams in a loop are safe at every depth, and no drain or meeting could be spared") {
  for (const bool grouped : {true, false})
    for (std::int32_t slots = 2; slots <= 5; ++slots) {
      CAPTURE(grouped);
      CAPTURE(slots);
      Program work = streamWork(grouped, 4);
      const TripsId again(0), inner(1);
      work.trips.insert(work.trips.begin(), {.name = "again"});
      work.trips[1].within = again;
      forEachOp(work.roles.front().body, [&](ScheduleOp &op) {
        if (op.kind == ScheduleOpKind::For) op.trips = inner;
      });
      ScheduleOp loop{.kind = ScheduleOpKind::For, .trips = again};
      loop.body = std::exchange(work.roles.front().body, {});
      work.roles.front().body.push_back(std::move(loop));
      Diagnostics diagnostics;
      auto ahead = prefetch(std::move(work), QueueId(0), inner, slots, diagnostics);
      REQUIRE_MESSAGE(ahead, diagnostics.render());
      const Program program = addDrains(std::move(*ahead));
      REQUIRE(prove(program).isSafe());
      const auto isWait = [](const ScheduleOp &op) {
        return op.kind == ScheduleOpKind::Drain || op.kind == ScheduleOpKind::Meet;
      };
      std::int32_t waits = 0;
      forEachOp(program.roles.front().body, [&](const ScheduleOp &op) { waits += isWait(op); });
      for (std::int32_t wait = 0; wait < waits; ++wait) {
        CAPTURE(wait);
        Program without = program;
        std::int32_t number = 0;
        forEachOp(without.roles.front().body, [&](ScheduleOp &op) {
          std::erase_if(op.body, [&](const ScheduleOp &inside) {
            return isWait(inside) && number++ == wait;
          });
        });
        CHECK_FALSE(prove(without).isSafe());
      }
    }
}

TEST_CASE(
    "of a ring of D slots, groups of D - 2 later trips fly on, and the warps meet once a trip") {
  for (std::int32_t slots = 2; slots <= 5; ++slots) {
    CAPTURE(slots);
    const Program program = streamed(true, 4, slots);
    const std::vector<ScheduleOp> &body = program.roles.front().body;
    const auto loop = std::ranges::find(body, ScheduleOpKind::For, &ScheduleOp::kind);
    REQUIRE(loop != body.end());
    REQUIRE(loop->body.size() > 2);
    CHECK(loop->body[0].kind == ScheduleOpKind::Drain);
    CHECK(loop->body[0].count == slots - 2);
    CHECK(loop->body[1].kind == ScheduleOpKind::Meet);
    CHECK(countOf(program, ScheduleOpKind::Meet) == 1);
  }
}

TEST_CASE("the same work gives the same schedule, wherever its operations lie in memory") {
  const std::string first = print(streamed(true, 4, 3));
  std::vector<std::vector<char>> between;
  for (std::size_t bytes = 64; bytes < 4096; bytes += 96) between.emplace_back(bytes);
  for (std::size_t i = 0; i < between.size(); i += 2) between[i] = {};
  CHECK(print(streamed(true, 4, 3)) == first);
}

TEST_CASE("what lies over a ring is written when the last reads and copies of it are over") {
  for (const bool over : {true, false}) {
    CAPTURE(over);
    Program work = streamWork(true, 4);
    work.buffers[0].offset = 0;
    Buffer result{.name = "result", .bytes = 16384, .parts = 4};
    if (over) result.offset = 0;
    const BufferId at(static_cast<std::uint32_t>(work.buffers.size()));
    work.buffers.push_back(result);
    work.roles.front().body.push_back(
        {.kind = ScheduleOpKind::Access,
         .accesses = {{.buffer = at, .writes = true, .part = Part::Own}}});
    Diagnostics diagnostics;
    auto ahead = prefetch(std::move(work), QueueId(0), TripsId(0), 3, diagnostics);
    REQUIRE_MESSAGE(ahead, diagnostics.render());
    const Program program = addDrains(std::move(*ahead));
    CHECK(prove(program).isSafe());
    CHECK(countOf(program, ScheduleOpKind::Meet) == (over ? 2 : 1));
  }
}

TEST_CASE("loads that come late in their loop are not started ahead") {
  Program work = streamWork(true, 1);
  for (ScheduleOp &op : work.roles.front().body)
    if (op.kind == ScheduleOpKind::For) std::ranges::rotate(op.body, op.body.begin() + 2);
  Diagnostics diagnostics;
  CHECK_FALSE(prefetch(work, QueueId(0), TripsId(0), 3, diagnostics));
  CHECK(diagnostics.all().front().kind == Diag::ScheduleLoadPlace);
}
