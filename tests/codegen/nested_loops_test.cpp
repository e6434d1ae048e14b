#include "backend/interpret/interpret.h"
#include "backend/ir/text.h"
#include "backend/passes/pipeline/join_orders.h"
#include "backend/passes/pipeline/prove_rings.h"
#include "backend/passes/pipeline/refill_rings.h"
#include "backend/pipeline.h"
#include "backend/schedule/check/check.h"
#include "backend/schedule/program/well_formed.h"
#include "tests/codegen/random_loops.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <deque>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

constexpr const char *kMachines[] = {"sm_80", "sm_90a", "sm_120a", "gfx942", "gfx950"};

/// A row of %a for each trip of the outer loop, of %b for each of the inner one; `around` is a loop
/// around both. Attributes may be empty.
struct Nest {
  std::string around, outer, inner;
  std::string first = "%zero"; ///< Of the outer loop and the inner one.
  std::string load = "";       ///< Of the loop around, into %w.
};

std::string textOf(const Nest &nest) {
  const bool isAround = !nest.around.empty();
  const std::string tile = "i32[16x64]";
  return "kernel @nest(%a: view<const i32, 2>, %b: view<const i32, 2>, %out: view<i32, 2>, "
         "%n: i32) stage tiles {\n"
         "%zero = constant 0 : i32\n%one = constant 1 : i32\n%none = constant 0 : " +
         tile + "\n" + (isAround ? "%all = " + nest.around + " {\n" + nest.load : "") +
         "%sums = for " + nest.first + ", %n, %one, " + (isAround ? "%w" : "%none") + " " +
         nest.outer + " (%i: i32, %x: " + tile + ") {\n%l = view.load %a, %zero, %i : " + tile +
         "\n%y = add %x, %l : " + tile + "\n%t = for " + nest.first + ", %n, %one, %y " +
         nest.inner + " (%k: i32, %u: " + tile + ") {\n%m = view.load %b, %i, %k : " + tile +
         "\n%twice = add %u, %u : " + tile + "\n%v = add %twice, %m : " + tile +
         "\nyield %v\n} : " + tile + "\nyield %t\n} : " + tile + "\n" +
         (isAround ? "yield %sums\n} : " + tile + "\n" : "") + "view.store %out, " +
         (isAround ? "%all" : "%sums") + ", %zero, %zero\n}\n";
}

TableKernel kernelOf(const Nest &nest, int trips) {
  return {.name = "nest",
          .kernel = parsedKernel(textOf(nest)),
          .grid = {},
          .arguments = {"random:i32:16x300", "random:i32:80x300", "zeros:i32:16x64",
                        std::to_string(trips)}};
}

void checkNest(const Nest &nest) {
  CAPTURE(textOf(nest));
  for (const std::string target : kMachines)
    for (const int trips : {0, 1, 2, 4}) {
      CAPTURE(target);
      const TableKernel one = kernelOf(nest, trips);
      ir::Kernel kernel = one.kernel.clone();
      Diagnostics diagnostics;
      const machine::Machine &machine = *machine::findMachine(target);
      REQUIRE_MESSAGE(runPasses(kernel, gpuPipeline(),
                                {diagnostics, machine, analysis::usualAssumptions(one.kernel)}),
                      diagnostics.render());
      CHECK(passes::pipeline::hasRings(kernel) == (target != "gfx942"));
      passes::pipeline::proveRings(kernel, machine, diagnostics);
      CHECK(diagnostics.render() == "");
      TableLaunch meant(one), got(one);
      runInterpreter(one.kernel, one, meant);
      runInterpreter(kernel, one, got);
      CHECK(got == meant);
    }
}

const std::string kAhead = "[pipelined = 2]", kDeep = "[pipelined = 3]";

} // namespace

TEST_CASE("a pipelined loop in a pipelined loop computes what it computed, and is proven") {
  checkNest({.around = "", .outer = kAhead, .inner = kAhead});
  checkNest({.around = "", .outer = kDeep, .inner = kAhead});
}

TEST_CASE("a pipelined loop in a loop over the same numbers is proven by its own trips") {
  checkNest({.around = "", .outer = "", .inner = kAhead});
  checkNest({.around = "", .outer = "", .inner = kDeep, .first = "%one"});
  const std::string around = "for %zero, %n, %one, %none (%j: i32, %w: i32[16x64])";
  checkNest({.around = around, .outer = kAhead, .inner = kAhead});
  checkNest({.around = around, .outer = "", .inner = kAhead, .first = "%one"});
}

/// Two loops behind each other in a third, of rows of %a and of %b.
std::string rowInLoop(bool isOfBoxesFirst, const std::string &slots) {
  const std::string tile = "i32[16x64]";
  const auto loop = [&](const std::string &view, const std::string &sums, const std::string &n) {
    return "%r" + n + " = for %zero, %n, %one, " + sums + " [pipelined = " + slots + "] (%k" + n +
           ": i32, %c" + n + ": " + tile + ") {\n%x" + n + " = view.load " + view + ", %zero, %k" +
           n + " : " + tile + "\n%y" + n + " = add %c" + n + ", %x" + n + " : " + tile +
           "\nyield %y" + n + "\n} : " + tile + "\n";
  };
  return "kernel @rows(%a: view<const i32, 2>, %b: view<const i32, 2>, %out: view<i32, 2>, "
         "%n: i32) stage tiles {\n%zero = constant 0 : i32\n%one = constant 1 : i32\n"
         "%none = constant 0 : " +
         tile + "\n%all = for %zero, %n, %one, %none (%i: i32, %w: " + tile + ") {\n" +
         loop(isOfBoxesFirst ? "%a" : "%b", "%w", "1") +
         loop(isOfBoxesFirst ? "%b" : "%a", "%r1", "2") + "yield %r2\n} : " + tile +
         "\nview.store %out, %all, %zero, %zero\n}\n";
}

TEST_CASE("in a loop, one that the engine loads for waits for one that it does not load for") {
  for (const bool isOfBoxesFirst : {false, true})
    for (const char *slots : {"2", "3", "5"}) {
      CAPTURE(isOfBoxesFirst);
      CAPTURE(std::string(slots));
      ir::Kernel kernel = parsedKernel(rowInLoop(isOfBoxesFirst, slots));
      Diagnostics diagnostics;
      const machine::Machine &machine = *machine::findMachine("sm_90a");
      analysis::Assumptions assumptions = analysis::usualAssumptions(kernel);
      assumptions.parameters[1].hasBoxes = false;
      REQUIRE_MESSAGE(runPasses(kernel, gpuPipeline(), {diagnostics, machine, assumptions}),
                      diagnostics.render());
      CHECK(ir::print(kernel).find("roles") != std::string::npos);
      CHECK(passes::pipeline::proveRings(kernel, machine, diagnostics));
      CHECK(diagnostics.render() == "");
    }
}

TEST_CASE("a nest of which no proof is found with all its slots has fewer") {
  const Nest nest{.around = "for %zero, %n, %one, %none [pipelined = 8] (%j: i32, %v0: i32[16x64])",
                  .outer = "[pipelined = 8]",
                  .inner = "[pipelined = 8]",
                  .load =
                      "%e = view.load %a, %zero, %j : i32[16x64]\n%w = add %v0, %e : i32[16x64]\n"};
  ir::Kernel kernel = std::move(kernelOf(nest, 2).kernel);
  Diagnostics diagnostics;
  REQUIRE_MESSAGE(
      runPasses(kernel, gpuPipeline(),
                {diagnostics, *machine::findMachine("sm_90a"), analysis::usualAssumptions(kernel)}),
      diagnostics.render());
  CHECK(passes::pipeline::hasRings(kernel));
  CHECK(passes::pipeline::proveRings(kernel, *machine::findMachine("sm_90a"), diagnostics));
  CHECK(ir::print(kernel).find("slots = 8") == std::string::npos);
}

TEST_CASE("what a proof will take is known before loops are written") {
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (const char *name : {"sm_80", "sm_90a", "gfx950"}) {
      CAPTURE(seed);
      CAPTURE(name);
      const machine::Machine &machine = *machine::findMachine(name);
      ir::Kernel kernel = randomLoops(seed, seed % 2 ? kManyLoops : LoopShape()).kernel.clone();
      Diagnostics diagnostics;
      const passes::PassContext context(diagnostics, machine, analysis::usualAssumptions(kernel));
      REQUIRE(runPasses(kernel, gpuPipeline(), context, "plan-loops"));
      std::deque<passes::pipeline::LoopLoads> loads;
      passes::pipeline::LoopOrders orders;
      const auto loops = passes::pipeline::loopsThat(passes::pipeline::hasPlan, kernel);
      auto refilled = passes::pipeline::refilledLoops(kernel, loops);
      for (const ir::Op *loop : loops) {
        const auto &attrs = loop->attrs<ir::ForAttrs>();
        if (attrs.slots <= ir::ForAttrs::kInRegisters) continue;
        loads.push_back(passes::pipeline::loadsOfRings(kernel, *loop));
        orders.emplace(
            loop, passes::pipeline::OrderedLoop{
                      .loads = loads.back(),
                      .order = passes::pipeline::orderLoop(kernel, *loop, loads.back(),
                                                           {attrs.slots, attrs.loader}, machine),
                      .refills = refilled[loop]});
      }
      const schedule::Program joined = passes::pipeline::joinOrders(kernel, orders);
      for (const char *pass : {"apply-plans", "split-roles", "place-slots"})
        REQUIRE(runPasses(kernel, *findPass(pass, diagnostics), context));
      if (orders.empty()) continue;
      const auto read = passes::pipeline::readSchedule(kernel, machine, diagnostics);
      REQUIRE(read);
      CHECK(schedule::verify(joined, diagnostics));
      const schedule::Verdict before = schedule::prove(joined),
                              after = schedule::prove(read->program);
      CHECK(before.isSafe());
      CHECK(after.states <= 2 * before.states);
      CHECK(before.states <= 3 * after.states);
    }
}
