#include "backend/analysis/whole_trips.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex;

namespace {

/// A loop over %k that copies the box at %m, `coordinate` where `condition` holds.
struct Loop {
  std::string coordinate, condition;
  std::string more = "";
  std::string step = "1";
};

std::string textOf(const Loop &loop) {
  return R"(kernel @k(%v: view<f16, 2>, %n: i64, %x: i64, %b: bool) stage scheduled lanes 32 warps 1 {
  layout #0 = register [[0,1],[0,2],[0,4],[8,0]] lane [[0,8],[0,16],[1,0],[2,0],[4,0]] of [16x32]
  layout #1 = offset [[0,1],[0,2],[0,4],[0,8],[0,16],[1,0],[2,0],[4,0],[8,0]] of [16x32]
  %r = ring.new [slots = 3] : ring<f16[16x32]> #0
  %m = program_id : i64
  %low = constant 4 : i64
  %step = constant )" +
         loop.step + R"( : i64
  %end = for %low, %n, %step, %x (%k: i64, %moved: i64) {
    %left = sub %n, %k : i64
    %distance = bitcast %left : u64
    %two = constant 2 : i64
    %ahead = add %k, %two : i64
    %far = constant 2 : u64
    %more = gt %distance, %far : bool
    ring.copy_box %r, )" +
         loop.condition + ", %v, %m, " + loop.coordinate + R"( [width = 8]
    ring.commit
    ring.drain [count = 1]
)" + loop.more +
         R"(    %s = ring.slot %r : shared<f16[16x32]> #1
    %next = add %moved, %k : i64
    yield %next
  } : i64
}
)";
}

std::optional<analysis::WholeTrips> wholeTripsOf(const Loop &loop, bool masksLoads = false) {
  const ir::Kernel kernel = testing::parsedKernel(textOf(loop));
  std::optional<analysis::WholeTrips> found;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::For) found = analysis::wholeTrips(kernel, op, masksLoads);
  });
  return found;
}

} // namespace

TEST_CASE("boxes that go on with the index are whole in a loop's first trips, but for the last") {
  const auto whole = wholeTripsOf({"%ahead", "%more"});
  REQUIRE(whole);
  CHECK(whole->step == 1);
  CHECK(whole->slots == 3);
  CHECK(whole->behind == 2);
  REQUIRE(whole->boxes.size() == 1);
  CHECK(whole->boxes[0].moves == std::vector<bool>{false, true});
  CHECK(whole->coordinates.size() == 2); // the sum, and its constant
}

TEST_CASE("trips are counted by the loop's step") {
  const auto whole = wholeTripsOf({.coordinate = "%k", .condition = "%more", .step = "2"});
  REQUIRE(whole);
  CHECK(whole->step == 2);
  CHECK(whole->behind == 1);
  CHECK_FALSE(wholeTripsOf({.coordinate = "%k", .condition = "%more", .step = "4"}));
}

TEST_CASE("a box that stays, or moves with a sum of the index and of what no trip changes") {
  const auto stays = wholeTripsOf({"%x", "%more"});
  REQUIRE(stays);
  CHECK(stays->boxes[0].moves == std::vector<bool>{false, false});
  const std::string sum = "    %y = add %x, %ahead : i64\n    ring.copy_box %r, %more, %v, %m, %y "
                          "[width = 8]\n";
  const auto moves = wholeTripsOf({"%k", "%more", sum});
  REQUIRE(moves);
  REQUIRE(moves->boxes.size() == 2);
  CHECK(moves->boxes[1].moves == std::vector<bool>{false, true});
}

TEST_CASE("a trip's steps are what a thread computes of its tiles, and multiplies") {
  const std::string tile = "    %t = constant 1.0 : f16[16x32] #0\n"
                           "    %u = add %t, %t : f16[16x32] #0\n";
  CHECK(wholeTripsOf({"%k", "%more"})->steps == 0);
  CHECK(wholeTripsOf({"%k", "%more", tile})->steps == 2 * 16 * 32 / 32);
}

TEST_CASE("nothing is known of loops whose few trips are all but the last ones of their copies") {
  const auto ofTrips = [](int trips) {
    std::string text = textOf({"%ahead", "%more"});
    const std::string loop = "  %end = for %low, %n,", left = "%left = sub %n,";
    text.replace(text.find(left), left.size(), "%left = sub %last,");
    return text.replace(text.find(loop), loop.size(),
                        "  %trips = constant " + std::to_string(trips) +
                            " : i64\n  %last = add %low, %trips : i64\n" +
                            "  %end = for %low, %last,");
  };
  const auto areKnown = [&](int trips) {
    const ir::Kernel kernel = testing::parsedKernel(ofTrips(trips));
    const ir::Op *loop =
        ir::firstOp(kernel.body(), [](const ir::Op &op) { return op.kind == ir::OpKind::For; });
    return analysis::wholeTrips(kernel, *loop, false).has_value();
  };
  CHECK_FALSE(areKnown(4)); // two of them whole
  CHECK(areKnown(5));
}

TEST_CASE("nothing is known of boxes that move otherwise") {
  const auto with = [](const std::string &definition) {
    return wholeTripsOf(
        {"%k", "%more",
         "    " + definition + " : i64\n    ring.copy_box %r, %more, %v, %m, %y [width = 8]\n"});
  };
  CHECK(with("%y = add %k, %x"));
  CHECK_FALSE(with("%y = add %k, %k"));
  CHECK_FALSE(with("%y = mul %k, %two"));
  CHECK_FALSE(with("%y = sub %x, %k"));
  CHECK_FALSE(wholeTripsOf({"%moved", "%more"}));
}

TEST_CASE(
    "loads under a condition are boxes like those that are copied, where they have no branch") {
  const auto with = [](const std::string &condition, const std::string &loads,
                       const std::string &none) {
    return Loop{"%k", "%more",
                "    %t = if " + condition + " {\n" + loads + "      yield %l\n    } else {\n" +
                    none + "      yield %z\n    } : f16[16x32] #0\n"};
  };
  const std::string load = "      %l = view.load %v, %m, %ahead : f16[16x32] #0\n";
  const std::string zero = "      %z = constant 0 : f16[16x32] #0\n";
  const bool kNoBranch = true;
  const auto whole = wholeTripsOf(with("%more", load, zero), kNoBranch);
  REQUIRE(whole);
  CHECK(whole->slots == 1);
  CHECK(whole->behind == 2);
  REQUIRE(whole->boxes.size() == 2);
  CHECK(whole->boxes[1].moves == std::vector<bool>{false, true});
  CHECK_FALSE(wholeTripsOf(with("%more", load, zero)));
  CHECK_FALSE(wholeTripsOf(with("%b", load, zero), kNoBranch));
  CHECK_FALSE(
      wholeTripsOf(with("%more", load, "      %z = constant 1 : f16[16x32] #0\n"), kNoBranch));
  const std::string nan = "      %l = view.load %v, %m, %ahead [padding = nan] : f16[16x32] #0\n";
  CHECK_FALSE(wholeTripsOf(with("%more", nan, zero), kNoBranch));
  const std::string inside = "      %w = add %ahead, %x : i64\n"
                             "      %l = view.load %v, %m, %w : f16[16x32] #0\n";
  CHECK_FALSE(wholeTripsOf(with("%more", inside, zero), kNoBranch));
}

TEST_CASE("nothing is known of copies under other conditions") {
  CHECK_FALSE(wholeTripsOf({"%k", "%b"}));
  const auto with = [](const std::string &definitions) {
    return wholeTripsOf(
        {"%k", "%more", definitions + "    ring.copy_box %r, %c, %v, %m, %k [width = 8]\n"});
  };
  CHECK(with("    %c = gt %distance, %far : bool\n"));
  CHECK_FALSE(with("    %c = ge %distance, %far : bool\n"));
  CHECK_FALSE(with("    %c = gt %left, %two : bool\n"));
  CHECK_FALSE(with("    %d = sub %x, %k : i64\n    %u = bitcast %d : u64\n"
                   "    %c = gt %u, %far : bool\n"));
}

TEST_CASE("a loop that may be left, or has bodies within, has no whole trips that are known") {
  CHECK_FALSE(wholeTripsOf({"%k", "%more", "    break_if %b, %x\n"}));
  CHECK_FALSE(wholeTripsOf({"%k", "%more", "    if %b {\n      yield\n    }\n"}));
}
