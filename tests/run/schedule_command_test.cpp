#include "tests/run/shell.h"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("plan makes a schedule that check proves, as fast as the machine's room allows") {
  const std::string plan =
      "imbrex plan sequence.imx --target sm_90a --loop k --trips k=32 --warps 8";
  const Outcome planned = shell(plan + " --explain");
  CHECK(planned.status == 0);
  CHECK(planned.output.starts_with("// taken: load | compute, "));
  CHECK(contains(planned.output, "barrier %A_B.empty arrivals 8"));
  const Outcome checked = shell(plan + " | imbrex check - --target sm_90a");
  CHECK(checked.status == 0);
  CHECK(checked.output.starts_with("schedule 'gemm' is safe for all numbers of trips: "));
  CHECK(shell(plan + " --slots 30").status == 1);
  const Outcome silent = shell(plan + " --signals nothing");
  CHECK(silent.status == 1);
  CHECK(contains(silent.output, "has no queue 'nothing'\n  hint: it has '"));
}

TEST_CASE("numbers on the command line that a schedule cannot have are refused") {
  const std::string plan = "imbrex plan sequence.imx --target sm_90a --loop k --trips k=32";
  for (const char *warps : {"0", "-1", "33"}) {
    const Outcome outcome = shell(plan + " --warps " + warps);
    CHECK(outcome.status == 2);
    CHECK(outcome.output == "imbrex: error: --warps wants a number from 1 to 32, not " +
                                std::string(warps) + "\n  hint: a block on sm_90a has no more\n");
  }
  for (const char *slots : {"0", "-4"})
    CHECK(contains(shell(plan + " --slots " + slots).output, "--slots wants a number from 1 to "));
  CHECK(contains(shell(plan + ",k=4").output, "the argument 'k' is given twice"));
  CHECK_FALSE(contains(shell(plan + " --signals products").output, "error"));
  const std::string check = plan + " | imbrex check -";
  for (const char *blocks : {"0", "-3", "1000"})
    CHECK(contains(shell(check + " --target sm_90a --min-blocks " + blocks).output,
                   "--min-blocks wants a number from 1 to 32, not " + std::string(blocks)));
  CHECK(contains(shell(check + " --min-blocks 1").output,
                 "--min-blocks means nothing without --target"));
}

TEST_CASE("plan says what it lacks") {
  const std::string plan = "imbrex plan sequence.imx --trips k=32";
  const Outcome aimless = shell(plan);
  CHECK(aimless.status == 2);
  CHECK(aimless.output == "imbrex: error: 'imbrex plan' means nothing without --loop\n"
                          "  hint: see --help\n");
  const Outcome host = shell(plan + " --loop k --target host");
  CHECK(host.status == 2);
  CHECK(contains(host.output, "error: host is no GPU that code can be made for\n"));
}

TEST_CASE("plan takes the warps of the work, unless it is told how many") {
  const std::string plan = "imbrex plan - --loop k --trips k=4 <<'END'\n"
                           "schedule @s {\n  trips %k\n  buffer %A 64\n  role %all warps 4 {\n"
                           "    for %k {\n      copy writes %A bytes 64 takes 9\n"
                           "      access reads %A takes 9\n    }\n  }\n}\nEND\n";
  CHECK(contains(shell(plan).output, "role %compute warps 4 {"));
  const std::size_t place = plan.find(" <<");
  const std::string told = plan.substr(0, place) + " --warps 2" + plan.substr(place);
  CHECK(contains(shell(told).output, "role %compute warps 2 {"));
}

TEST_CASE("plan refuses work that somebody has ordered already") {
  const Outcome outcome =
      shell("imbrex plan - --loop k --trips k=4 <<'END'\n"
            "schedule @s {\n  trips %k\n  buffer %A 64\n  buffer %sum 64 registers\n"
            "  role %all {\n    queue %q async\n    access writes %sum\n    for %k {\n"
            "      copy writes %A bytes 64\n      issue %q reads %A writes %sum\n"
            "      drain %q\n    }\n    access reads %sum\n  }\n}\nEND\n");
  CHECK(outcome.status == 1);
  CHECK(
      outcome.output ==
      "stdin:11: error: 'drain' stands in sequential work, in which each operation is over before "
      "the next one begins\n"
      "  hint: leave it out: what orders the operations is for the plan to add\n");
}

TEST_CASE("plan lets two groups take turns where that is allowed and faster") {
  const std::string plan = "imbrex plan turns.imx --target sm_90a --loop k --trips k=32 --explain";
  CHECK(shell(plan).output.starts_with("// taken: compute, 4 slots: 320 cycles a trip"));
  const Outcome turns = shell(plan + " --turns");
  CHECK(turns.status == 0);
  CHECK(turns.output.starts_with("// taken: two groups by turns, 5 slots: 200 cycles a trip"));
  CHECK(contains(turns.output, "drain %loads to 16\n      meet %all\n"));
}

TEST_CASE("plan lets two groups take turns with one slot, where tiles come through registers") {
  const Outcome turns =
      shell("imbrex plan staged.imx --target sm_75 --loop k --trips k=32 --turns --explain");
  CHECK(turns.status == 0);
  CHECK(turns.output.starts_with("// taken: two groups by turns, the last products in two, 2 "
                                 "slots: 400 cycles a trip, 65536 bytes\n"));
  CHECK(contains(turns.output, "drain %shared\n      meet %all\n"));
}

TEST_CASE("plan prints no plan of work that is wrong itself") {
  const Outcome shared = shell("sed 's/(own)//' turns.imx | "
                               "imbrex plan - --target sm_90a --loop k --trips k=32 --explain");
  CHECK(shared.status == 1);
  CHECK(contains(shared.output, "may still be writing"));
  CHECK_FALSE(contains(shared.output, "schedule @turns"));
  CHECK_FALSE(contains(shared.output, "// taken"));
}

TEST_CASE("check asks for a target that there is, whatever the file holds") {
  const Outcome unknown = shell("imbrex check scale.imx --target sm_99");
  CHECK(unknown.status == 2);
  CHECK(contains(unknown.output, "sm_99"));
}

TEST_CASE("plan divides registers among roles, and lets the ones that compute take turns") {
  const Outcome planned = shell("imbrex plan attention.imx --loop n --trips tiles=4,n=16 --turns "
                                "--registers --explain");
  CHECK(planned.output.starts_with("// taken: load | compute by turns, 5 slots, 2 outside: 4340 "
                                   "cycles a trip, 196736 bytes, 24 | 240 | 240 registers\n"));
  CHECK(contains(planned.output, "role %compute1 warps 4 registers 240 {"));
}

TEST_CASE("check shows the shortest run of an unsafe schedule, with lines") {
  const Outcome outcome = shell("imbrex check unsafe.imx");
  CHECK(outcome.status == 1);
  CHECK(outcome.output.starts_with(
      "unsafe.imx:14: error: 'load' by copy 'full' at 'tile', use 2 in slot 0 (unsafe.imx:14) "
      "overwrites what 'compute' by issue 'products' at 'tile', use 0 in slot 0 (unsafe.imx:23) "
      "may "
      "still be reading\n"));
  CHECK(contains(outcome.output,
                 "so it goes with k >= 3\n"
                 "    load: wait 'empty' at use 0 (unsafe.imx:12)\n"
                 "    load: expect 'full' at use 0 (unsafe.imx:13)\n"
                 "    load: copy 'full' at use 0 writes 'tile' at use 0 (unsafe.imx:14)\n"));
  CHECK(contains(outcome.output,
                 "    load: copy 'full' at use 2 writes 'tile' at use 2 (unsafe.imx:14)\n"));
}

namespace {

/// A loop of loads, products, and what stands behind them in it.
std::string workOf(const std::string &bytes, const std::string &more) {
  return " <<'END'\nschedule @w {\n  trips %k\n  trips %m\n  buffer %A " + bytes +
         "\n  buffer %sum 64 registers\n  role %all warps 4 {\n"
         "    queue %products serial grouped async\n    access writes %sum\n    for %k {\n"
         "      copy writes %A bytes 64 takes 9 on memory busy 3\n"
         "      issue %products reads %A writes %sum takes 9 on products busy 9\n"
         "      commit %products\n      access reads %sum writes %sum takes 3\n    }\n" +
         more + "    access reads %sum\n  }\n}\nEND\n";
}

} // namespace

TEST_CASE("plan says that a buffer is loaded in two loops") {
  const std::string again = "    for %m {\n      copy writes %A bytes 64\n      issue %products "
                            "reads %A writes %sum\n      commit %products\n    }\n";
  const Outcome twice = shell("imbrex plan - --loop k --trips k=32,m=8" + workOf("64", again));
  CHECK(twice.status == 1);
  CHECK(twice.output ==
        "stdin:16: error: 'A' is loaded in two loops, one behind the other: here and at stdin:10\n"
        "  hint: give each loop a buffer of its own; 'at' lays both in the same memory\n");
}

TEST_CASE("what no plan has room for is said, also where queues might signal") {
  for (const char *signals : {"", " --signals products"}) {
    const Outcome large = shell("imbrex plan - --loop k --trips k=32,m=8" + std::string(signals) +
                                workOf("999999", ""));
    CHECK(contains(large.output, "error: nothing that was tried for schedule 'w' fits on sm_90a: "
                                 "schedule 'w' takes "));
    CHECK(contains(large.output, "1000080 bytes of shared memory; a block on sm_90a has 232448"));
  }
}

TEST_CASE("a plan of many trips is made as soon as one of few, and has its reasons") {
  const std::string plan =
      "imbrex plan attention.imx --loop n --turns --explain --trips tiles=4,n=";
  const Outcome many = shell(plan + "100000");
  CHECK(many.status == 0);
  CHECK(many.output.starts_with("// taken: load | compute by turns, 5 slots, 2 outside: 25600244 "
                                "cycles a trip, 196736 bytes\n"));
  CHECK(shell(plan + "2000000000").status == 0);
}
