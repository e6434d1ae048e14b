// Loops in a row that fill the same rings: when they do, and that it is safe.

#include "backend/ir/builder.h"
#include "backend/passes/pipeline/prove_rings.h"
#include "backend/passes/pipeline/refill_rings.h"
#include "backend/passes/rewriting.h"
#include "backend/pipeline.h"
#include "tests/codegen/pipelined_kernels.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <random>
#include <utility>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

/// A loop of products of square boxes.
struct Part {
  int slots = 2;
  bool worksOnTiles = true; ///< Beside the products.
  bool isTransposed = false;
  std::string element = "f16";
  std::string hints = {};
};

/// Loops behind each other.
struct Row {
  std::vector<Part> parts;
  bool isInLoop = false;
  int extent = 16;
};

std::string textOf(const Row &row) {
  const auto &[parts, isInLoop, extent] = row;
  const std::string shape = "[" + std::to_string(extent) + "x" + std::to_string(extent) + "]";
  const std::string sum = "f32" + shape;
  std::string text = "kernel @parts(%f16a: view<const f16, 2>, %f16b: view<const f16, 2>, "
                     "%bf16a: view<const bf16, 2>, %bf16b: view<const bf16, 2>, %n: i32, "
                     "%out: view<f32, 2>) stage tiles {\n"
                     "%zero = constant 0 : i32\n%one = constant 1 : i32\n"
                     "%three = constant 3 : i32\n%ones = constant 1.0 : " +
                     sum + "\n";
  if (isInLoop) text += "%r = for %zero, %three, %one, %ones (%j: i32, %r0: " + sum + ") {\n";
  std::string sums = isInLoop ? "%r0" : "%ones";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part &part = parts[i];
    const std::string n = std::to_string(i), box = " : " + part.element + shape + "\n";
    const std::string next = "%sums" + n;
    text += next + " = for %zero, %n, %one, " + sums +
            " [pipelined = " + std::to_string(part.slots) + "] (%k" + n + ": i32, %s" + n + ": " +
            sum + ") {\n";
    text += "%x" + n + " = view.load %" + part.element + "a, %zero, %k" + n + part.hints + box;
    text += "%l" + n + " = view.load %" + part.element + "b, " +
            (part.isTransposed ? "%zero, %k" + n : "%k" + n + ", %zero") + part.hints + box;
    text += part.isTransposed ? "%y" + n + " = permute %l" + n + " [order = [1, 0]]" + box : "";
    text += part.worksOnTiles ? "%t" + n + " = add %s" + n + ", %ones : " + sum + "\n" : "";
    text += "%z" + n + " = dot %x" + n + ", %" + (part.isTransposed ? "y" : "l") + n + ", %" +
            (part.worksOnTiles ? "t" : "s") + n + " : " + sum + "\nyield %z" + n + "\n} : " + sum +
            "\n";
    sums = next;
  }
  if (isInLoop) text += "yield " + sums + "\n} : " + sum + "\n";
  return text + "view.store %out, " + (isInLoop ? "%r" : sums) + ", %zero, %zero\n}\n";
}

TableKernel kernelOf(const Row &row, int trips) {
  const std::string extent = std::to_string(row.extent),
                    length = std::to_string(row.extent * trips);
  const std::string along = extent + "x" + length;
  const std::string down = std::to_string(row.extent * std::max(trips, 1)) + "x" + length;
  return {.name = "parts",
          .kernel = parsedKernel(textOf(row)),
          .grid = {},
          .arguments = {"random:f16:" + along, "random:f16:" + down, "random:bf16:" + along,
                        "random:bf16:" + down, std::to_string(trips),
                        "zeros:" + extent + "x" + extent}};
}

ir::Kernel scheduled(const TableKernel &of, const char *machine) {
  ir::Kernel kernel = of.kernel.clone();
  Diagnostics diagnostics;
  REQUIRE_MESSAGE(runPasses(kernel, gpuPipeline(),
                            {diagnostics, *machine::findMachine(machine),
                             analysis::usualAssumptions(of.kernel)}),
                  diagnostics.render());
  return kernel;
}

std::int64_t ringsOf(const ir::Kernel &kernel) {
  return llvm::count_if(kernel.body().ops,
                        [](const auto &op) { return op->kind == ir::OpKind::RingNew; });
}

std::int64_t ringsOf(const std::vector<Part> &parts, const char *machine) {
  return ringsOf(scheduled(kernelOf({.parts = parts, .extent = 64}, 3), machine));
}

constexpr const char *kMachinesInRow[] = {"sm_80",  "sm_90a",  "sm_120a", "gfx942",
                                          "gfx950", "gfx1100", "gfx1201"};

void checkSafe(const Row &row) {
  CAPTURE(textOf(row));
  for (const char *machine : kMachinesInRow)
    for (const int trips : {0, 1, 2, 5}) {
      CAPTURE(std::string(machine));
      CAPTURE(trips);
      const TableKernel one = kernelOf(row, trips);
      const ir::Kernel kernel = scheduled(one, machine);
      Diagnostics diagnostics;
      passes::pipeline::proveRings(kernel, *machine::findMachine(machine), diagnostics);
      CHECK(diagnostics.render() == "");
      TableLaunch meant(one), got(one);
      runInterpreter(one.kernel, one, meant);
      runInterpreter(kernel, one, got);
      CHECK(got == meant);
    }
}

} // namespace

TEST_CASE("loops in a row with tiles alike fill the same rings") {
  for (const char *machine : {"sm_80", "sm_120a", "gfx942", "gfx950", "gfx1100", "gfx1201"}) {
    CAPTURE(std::string(machine));
    CHECK(ringsOf({{}, {}}, machine) == 2);
    CHECK(ringsOf({{}, {}, {}}, machine) == 2);
    CHECK(ringsOf({{}, {.element = "bf16"}, {}, {.element = "bf16"}}, machine) == 4);
  }
}

TEST_CASE("loops have rings of their own where slots, tiles, readers or ends differ") {
  for (const char *machine : {"sm_80", "gfx950"}) {
    CAPTURE(std::string(machine));
    CHECK(ringsOf({{}, {.slots = 3}}, machine) == 4);
    // As many slots as the planner chooses, but asked for.
    CHECK(ringsOf({{.slots = -1}, {.slots = 7}}, machine) == 4);
    CHECK(ringsOf({{.slots = 4}, {.slots = -1}, {.slots = 4}}, machine) == 4);
    CHECK(ringsOf({{}, {.worksOnTiles = false}}, machine) == 4);
    CHECK(ringsOf({{.worksOnTiles = false}, {.worksOnTiles = false}}, machine) == 4);
  }
  for (const char *machine : {"sm_80", "gfx942"}) {
    CAPTURE(std::string(machine));
    CHECK(ringsOf({{}, {.isTransposed = true}}, machine) == 4);
    CHECK(ringsOf({{}, {.element = "bf16"}}, machine) == 4);
  }
  // Threads may hold otherwise what they load with hints.
  CHECK(ringsOf({{}, {.hints = " [eviction = first]"}}, "gfx1201") == 4);
  // What the engine loads counts on barriers, which each loop has of its own.
  CHECK(ringsOf({{}, {}}, "sm_90a") == 4);
}

TEST_CASE("a loop that is left on the way has slots that nobody took, which no other fills") {
  const TableKernel one = kernelOf({.parts = {{}, {}}}, 3);
  ir::Kernel kernel = one.kernel.clone();
  Diagnostics diagnostics;
  REQUIRE(runPasses(
      kernel, gpuPipeline(),
      {diagnostics, *machine::findMachine("sm_80"), analysis::usualAssumptions(one.kernel)},
      "plan-loops"));
  const auto loops = passes::pipeline::loopsThat(passes::pipeline::hasPlan, kernel);
  REQUIRE(loops.size() == 2);
  CHECK(passes::pipeline::refilledLoops(kernel, loops).at(loops[1]) == loops[0]);
  // No pass plans such a loop; a file may.
  ir::Block &body = loops[0]->regions[0];
  ir::Block leaves;
  ir::Builder to(kernel, leaves);
  to.create(ir::OpKind::BreakIf,
            {to.constantBits(ir::Type::tile(ir::ElementKind::Bool), 1), body.arguments[1]}, {});
  passes::moveInto(body, 0, std::move(leaves));
  CHECK(passes::pipeline::refilledLoops(kernel, loops).empty());
}

TEST_CASE("loops in a row are safe, and compute the same, whatever rings they fill") {
  std::mt19937 random(20);
  const auto below = [&](std::uint32_t n) { return static_cast<int>(random() % n); };
  for (int i = 0; i < 24; ++i) {
    std::vector<Part> parts;
    for (int left = 2 + below(3); left > 0; --left) {
      Part &part = parts.emplace_back();
      part.slots = 2 + below(2);
      part.worksOnTiles = below(3) > 0;
      part.isTransposed = below(3) == 0;
      if (below(4) == 0) part.element = "bf16";
    }
    checkSafe({.parts = std::move(parts), .isInLoop = below(2) == 0});
  }
}
