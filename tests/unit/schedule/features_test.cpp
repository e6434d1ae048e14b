// What others' pipelines of slots can do, row by row, and where each row is held here: by a test,
// or the reason why it is none of this project's. And the published kernels, of which the planner
// must make as good ones.

#include "backend/schedule/check/check.h"
#include "backend/schedule/plan/drains.h"
#include "backend/schedule/plan/plan.h"
#include "backend/schedule/plan/prefetch.h"
#include "backend/schedule/plan/split_roles.h"
#include "backend/schedule/plan/synchronise.h"
#include "tests/support/schedule_bugs.h"
#include "tests/unit/schedule/works.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace imbrex;
using namespace imbrex::schedule;
using namespace imbrex::testing;

namespace {

struct Row {
  std::string_view id, what;
  std::vector<std::string_view> tests; ///< How their names begin; empty: it is not here,
  std::string_view why = {};           ///< for this reason.
};

/// The rows are those of nvFuser's circular buffers: csrc/ir/interface_nodes.h,
/// csrc/device_lower/pass/circular_buffer.cpp and tests/cpp/test_circular_buffering*.cpp.
const std::vector<Row> &features() {
  static const std::vector<Row> rows = {
      {"N1",
       "rings of any number of slots, filled any number of trips ahead",
       {"rings of 2, 5 and 9 slots are filled any number of trips ahead"}},
      {"N2",
       "rings in shared memory and in registers",
       {"streams are safe at every depth, and no drain could be weaker and no meeting missing",
        "without asynchronous copies loads run ahead in registers, if there are enough of them"}},
      {"N3",
       "several tensors in one loop share its slots and its first trips",
       {"a product with bias by three roles has the barriers of the books, and is proven"}},
      {"N4",
       "a ring in a loop that is unrolled or vectorised",
       {},
       "loops are unrolled behind the schedule, by LLVM, and copies are as wide as the layout "
       "says"},
      {"N5",
       "groups of copies: of D slots D - 1 ahead, D - 2 left, a meeting a trip",
       {"of a ring of D slots, groups of D - 2 later trips fly on, and the warps meet once a "
        "trip"}},
      {"N6",
       "copies that count on a barrier, given back by a meeting or by a barrier",
       {"the barriers of schedules by hand come out again of what they do"}},
      {"N7",
       "a role that loads, and one that computes",
       {"no candidate is better than the one that is taken, and all that fit are slower or "
        "larger"}},
      {"N8",
       "a barrier wants as many arrivals as copies share it, or warps read behind it",
       {"a product with bias by three roles has the barriers of the books, and is proven",
        "K4: attention is computed by two groups in turns, with the arrivals of the books"}},
      {"N9",
       "all slots are given back at the start",
       {"a release of all slots at the start is as good as a first wait that passes"}},
      {"N10",
       "the phase goes on through all loops around",
       {"the schedule of a product runs on from tile to tile",
        "a parity that starts anew with each tile goes unnoticed after whole turns of two"}},
      {"N11",
       "slots are given back later by as many trips as products are in flight",
       {"a ring needs one slot more than products in flight",
        "what is made is well formed, and safe at every depth that is deep enough"}},
      {"N12",
       "registers are divided in steps of 8, from 24 to 256, none lost",
       {"splits are the pairs that validation accepts, all of them"}},
      {"N13",
       "registers are divided where the block's threads are known",
       {"launches with nothing to split are refused"}},
      {"N14",
       "the well-known divisions for one group that loads and two that compute",
       {"the well-known splits are accepted",
        "roles of whole groups of warps get the registers that the others give up"}},
      {"N15",
       "groups that compute by themselves, each giving its slots back",
       {"K4: attention is computed by two groups in turns, with the arrivals of the books"}},
      {"N16",
       "a partition that cannot be is refused with the reason",
       {"groups are made of a role that only reads what others hand it",
        "what a role writes again in any other way stays within a role",
        "roles are made of a sequence alone, and a ring has one producer"}},
      {"N17",
       "several loads before groups that compute by themselves",
       {"K4: attention is computed by two groups in turns, with the arrivals of the books"}},
      {"N18",
       "two groups of a product that hand each other the turn, one of them first",
       {"a turn is handed on by all warps of the other group, and one of them has the first"}},
      {"N19",
       "tiles without a trip within a run of many",
       {"the schedule of a product runs on from tile to tile"}},
      {"N20",
       "a loop with slots within one that has roles",
       {},
       "a role's own loads are not started ahead by the planner: they get a role"},
      {"N21",
       "a meeting within a role counts that role's warps alone",
       {"streams are safe at every depth, and no drain could be weaker and no meeting missing",
        "every known bug is found, for the right reason, and its repair is proven"}},
      {"N22",
       "reductions over streams whose groups compute by themselves",
       {"pipelined loops compute on an emulated sm_80 what the interpreter does"}},
      {"missing load",
       "a role that loads by its own threads",
       {"a value that one role renews for another's next trip has a use for each, and the first"}},
      {"missing result",
       "a ring for results in a tensor core's memory",
       {"with a role for the tensor core the result is a ring, and nobody drains for it"}},
      {"missing roles",
       "several roles that load",
       {"each golden schedule holds what orders it, who hands what to whom, and how it goes"}},
      {"missing registers",
       "registers for each role",
       {"roles of whole groups of warps get the registers that the others give up"}},
      {"missing proof",
       "a proof that the waits suffice",
       {"every known bug is found, for the right reason, and its repair is proven",
        "nothing that orders a made schedule can be left out"}},
  };
  return rows;
}

/// The text of all tests but these.
std::string textOfTests() {
  std::ostringstream text;
  for (const auto &entry : std::filesystem::recursive_directory_iterator("../.."))
    if (entry.path().filename().string().ends_with("_test.cpp") &&
        entry.path().filename() != "features_test.cpp")
      text << std::ifstream(entry.path()).rdbuf();
  return std::move(text).str();
}

void checkAreThere(const std::vector<std::string_view> &names) {
  static const std::string tests = textOfTests();
  for (const std::string_view name : names) {
    CAPTURE(name);
    const bool isHere = name.starts_with("rings of 2, 5 and 9 slots");
    CHECK((isHere || tests.find("\"" + std::string(name)) != std::string::npos));
  }
}

} // namespace

TEST_CASE("every feature of others' rings has a test here, or the reason why there is none") {
  std::set<std::string_view> ids;
  for (const Row &row : features()) {
    CAPTURE(row.id);
    CHECK(ids.insert(row.id).second);
    CHECK(row.tests.empty() == !row.why.empty());
    checkAreThere(row.tests);
  }
  for (int n = 1; n <= 22; ++n) CHECK(ids.contains("N" + std::to_string(n)));
}

TEST_CASE("every bug of the list of known ones is a program here, or kept away elsewhere") {
  std::set<std::string> known;
  for (const KnownBug &bug : knownBugs()) known.emplace(bug.id);
  for (const OtherBug &bug : otherBugs()) {
    CAPTURE(bug.id);
    known.emplace(bug.id);
    CHECK_FALSE(bug.tests.empty());
    checkAreThere(bug.tests);
  }
  for (const int n : {1,  2,  3,  4,  6,  7,  8,  9,  10, 12, 13, 14, 15, 16, 17, 19, 20, 21, 24,
                      25, 26, 27, 28, 29, 30, 31, 32, 34, 35, 36, 37, 38, 40, 41, 43, 44, 45})
    CHECK_MESSAGE(known.contains("T" + std::to_string(n)), n);
}

namespace {

/// Without the tiles around, and the bias.
Program plainWork() {
  ScheduleBuilder build("gemm");
  const TripsId k = build.trips("k");
  const BufferId a = build.buffer({.name = "A", .bytes = 16384});
  const BufferId b = build.buffer({.name = "B", .bytes = 16384});
  const BufferId sum = build.buffer({.name = "sum", .bytes = 65536, .space = Space::Registers});
  auto all = build.role("all");
  const QueueId products =
      all.queue({.name = "products", .serial = true, .grouped = true, .async = true});
  all.access({write(sum)});
  all.forTrips(k, [&] {
    all.copy({write(a)}, {}, {}, 16384);
    all.copy({write(b)}, {}, {}, 16384);
    all.issue(products, {read(a), read(b), write(sum)});
    all.commit(products);
  });
  all.access({read(sum)});
  Program work = build.take();
  forEachOp(work.roles.front().body, [](ScheduleOp &op) {
    if (op.kind == ScheduleOpKind::Copy) op.cost = {"memory", 400, 60};
    if (op.kind == ScheduleOpKind::Issue) op.cost = {"products", 128, 128};
  });
  return work;
}

} // namespace

TEST_CASE("rings of 2, 5 and 9 slots are filled any number of trips ahead") {
  const RoleSplit split = {.roles = {{"load"}, {"compute", 8}}, .roleOf = {1, 0, 0, 1, 1, 1}};
  for (const std::int32_t slots : {2, 5, 9})
    for (std::int32_t ahead = 1; ahead < slots; ++ahead) {
      CAPTURE(slots);
      CAPTURE(ahead);
      Diagnostics diagnostics;
      auto program = splitRoles(plainWork(), split, diagnostics);
      REQUIRE(program);
      for (Ring &ring : program->rings) ring.depth = slots;
      // What is not ahead is still being read.
      const std::int32_t inFlight = slots - ahead - 1;
      const auto safe = addBarriers(std::move(*program), {{.inFlight = inFlight}}, diagnostics);
      REQUIRE_MESSAGE(safe, diagnostics.render());
      const Verdict verdict = prove(addDrains(*safe));
      const std::string why = verdict.isSafe() ? "" : render(verdict.findings.front().what);
      CHECK_MESSAGE(verdict.isSafe(), why);
    }
  for (const bool grouped : {true, false})
    for (const std::int32_t slots : {2, 5, 9}) {
      Diagnostics diagnostics;
      const auto program =
          prefetch(streamWork(grouped, 4), QueueId(0), TripsId(0), slots, diagnostics);
      REQUIRE(program);
      CHECK(prove(addDrains(*program)).isSafe());
    }
}

namespace {

Plan planned(const Program &work, const PlanRequest &request) {
  Diagnostics diagnostics;
  auto plan = planSchedule(work, request, diagnostics);
  REQUIRE_MESSAGE(plan, diagnostics.render());
  REQUIRE(prove(plan->program).isSafe());
  return std::move(*plan);
}

PlanRequest requestFor(std::string_view machine, std::uint32_t loop, bool signals) {
  const machine::Machine *found = machine::findMachine(machine);
  REQUIRE(found);
  std::vector<std::int32_t> trips(loop + 1, 4);
  trips.back() = 16;
  return {.machine = *found,
          .loop = TripsId(loop),
          .trips = trips,
          .signals = {signals},
          .warps = signals ? 4 : 8,
          .registers = true};
}

/// "full 1 empty 8 in 6 slots" of the ring of a buffer.
std::string barriersOf(const Program &program, std::string_view ring) {
  std::string text;
  std::int32_t depth = 0;
  for (const Barrier &barrier : program.barriers) {
    if (program[barrier.ring].name != ring) continue;
    text += barrier.name.substr(ring.size() + 1) + " " + std::to_string(barrier.arrivals) + " ";
    depth = program[barrier.ring].depth;
  }
  return text + "in " + std::to_string(depth) + " slots";
}

} // namespace

TEST_CASE("K1: a product by a role that loads and eight warps has the barriers and registers of "
          "the books") {
  const Plan plan = planned(plainWork(), requestFor("sm_90a", 0, false));
  CHECK(plan.taken().roles == "load | compute");
  CHECK(barriersOf(plan.program, "A_B") == "full 1 empty 8 in 5 slots");
  CHECK(plan.taken().registers == std::vector{24, 240});
  CHECK(plan.gap() == 1); // products without a pause
  CHECK(bytesOf(plan.program, "A_B.full") == 32768);
  checkFirstParities(plan.program);
}

TEST_CASE("K1: in four slots with a product in flight, the slot of the one before is given back") {
  const RoleSplit split = {.roles = {{"load"}, {"compute", 8}}, .roleOf = {1, 0, 0, 1, 1, 1}};
  Diagnostics diagnostics;
  auto program = splitRoles(plainWork(), split, diagnostics);
  REQUIRE(program);
  program->rings.front().depth = 4;
  program = addBarriers(std::move(*program), {{.inFlight = 1}}, diagnostics);
  REQUIRE_MESSAGE(program, diagnostics.render());
  CHECK(barriersOf(*program, "A_B") == "full 1 empty 8 in 4 slots");
  CHECK(bytesOf(*program, "A_B.full") == 32768);
  checkFirstParities(*program);
  std::vector<std::int32_t> left;
  forEachOp(program->roles.back().body, [&](const ScheduleOp &op) {
    if (op.kind == ScheduleOpKind::Drain) left.push_back(op.count);
    if (op.kind == ScheduleOpKind::Arrive) CHECK(op.index.offset == -1);
  });
  CHECK(left == std::vector{1, 0}); // behind a product, and behind the last
  CHECK(prove(*program).isSafe());
}

TEST_CASE("K2: a product with bias has a ring for each rate") {
  const Plan plan = planned(gemmWork(false), requestFor("sm_90a", 1, false));
  CHECK(barriersOf(plan.program, "A_B").starts_with("full 1 empty 8 in "));
  CHECK(barriersOf(plan.program, "bias").starts_with("full 1 empty 8 in "));
  CHECK(bytesOf(plan.program, "A_B.full") == 32768);
  CHECK(bytesOf(plan.program, "bias.full") == 4096);
  checkFirstParities(plan.program);
}

TEST_CASE(
    "K3: where products run by themselves, results have two slots, given back by four warps") {
  // Which tile is next, all roles count for themselves here: no ring hands it on. One that does,
  // and one for the results' address, are among the known bugs' repairs, T43 and T34.
  const Plan plan = planned(gemmWork(true), requestFor("sm_100a", 1, true));
  CHECK(plan.taken().roles == "load | multiply | finish");
  CHECK(barriersOf(plan.program, "A_B").starts_with("full 1 empty 1 in "));
  CHECK(barriersOf(plan.program, "sum") == "full 1 empty 4 in 2 slots");
  CHECK(barriersOf(plan.program, "bias") == "full 1 empty 4 in 2 slots");
  checkFirstParities(plan.program);
}

TEST_CASE("K5: groups of copies are left but for the one that is needed, with a meeting a trip") {
  PlanRequest request = requestFor("sm_80", 0, false);
  request.warps = 4;
  const Plan plan = planned(streamWork(true, 4), request);
  const std::vector<ScheduleOp> &body = plan.program.roles.front().body;
  const auto loop = std::ranges::find(body, ScheduleOpKind::For, &ScheduleOp::kind);
  REQUIRE(loop != body.end());
  CHECK(loop->body[0].kind == ScheduleOpKind::Drain);
  CHECK(loop->body[0].count == plan.taken().slots - 2);
  CHECK(std::ranges::count(loop->body, ScheduleOpKind::Meet, &ScheduleOp::kind) == 1);
}
