#include "backend/passes/pipeline/loop_costs.h"
#include "backend/passes/pipeline/prove_rings.h"
#include "backend/passes/pipeline/read_schedule.h"
#include "backend/pipeline.h"
#include "backend/schedule/check/check.h"
#include "backend/schedule/program/channels.h"
#include "tests/codegen/compiled_table.h"
#include "tests/codegen/pipelined_kernels.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <cstdlib>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

const machine::Machine &machineNamed(std::string_view name) {
  const machine::Machine *machine = machine::findMachine(name);
  REQUIRE(machine != nullptr);
  return *machine;
}

/// As it is lowered for a machine, and why.
ir::Kernel pipelined(const TableKernel &of, const machine::Machine &machine,
                     std::string *explanation = nullptr) {
  ir::Kernel kernel = of.kernel.clone();
  Diagnostics diagnostics;
  passes::PassContext context(diagnostics, machine, analysis::usualAssumptions(kernel));
  context.explanation = explanation;
  REQUIRE_MESSAGE(runPasses(kernel, gpuPipeline(), context), diagnostics.render());
  return kernel;
}

/// What is pipelined, in which sums begin as they do there and are rounded alike.
ir::Kernel simplified(const TableKernel &of) {
  ir::Kernel kernel = of.kernel.clone();
  Diagnostics diagnostics;
  REQUIRE_MESSAGE(runPasses(kernel, hostPipeline(), diagnostics), diagnostics.render());
  return kernel;
}

std::vector<ir::Op *> opsOf(ir::Kernel &kernel, std::initializer_list<ir::OpKind> kinds) {
  std::vector<ir::Op *> found;
  ir::walk(kernel.body(), [&](ir::Op &op) {
    if (llvm::is_contained(kinds, op.kind)) found.push_back(&op);
  });
  return found;
}

bool isSafe(const ir::Kernel &kernel, const machine::Machine &machine) {
  Diagnostics diagnostics;
  return passes::pipeline::proveRings(kernel, machine, diagnostics).has_value();
}

void erase(ir::Block &block, const ir::Op *op) {
  llvm::erase_if(block.ops, [&](const auto &one) { return one.get() == op; });
  for (const auto &one : block.ops)
    for (ir::Block &region : one->regions) erase(region, op);
}

} // namespace

TEST_CASE("a pipelined loop computes what it computed, for numbers of trips around the slots") {
  for (const int slots : kPipelineSlots)
    for (const TableKernel &one : pipelinedKernels(slots))
      for (const char *machine : {"sm_80", "sm_90a"}) {
        CAPTURE(one.name);
        CAPTURE(machine);
        const ir::Kernel kernel = pipelined(one, machineNamed(machine));
        CHECK(passes::pipeline::hasRings(kernel));
        TableLaunch meant(one), got(one);
        runInterpreter(simplified(one), one, meant);
        runInterpreter(kernel, one, got);
        CHECK(got == meant);
      }
}

TEST_CASE(
    "the loops of a product, of attention and of a stream are safe for all trips, and no wait "
    "or meeting could be spared") {
  for (const int slots : kPipelineSlots)
    for (const TableKernel &one : pipelinedKernels(slots)) {
      const std::string of = "_" + std::to_string(slots);
      if (one.name != "product" + of + "_16" && one.name != "attention" + of + "_16_16" &&
          one.name != "stream" + of + "_256")
        continue;
      CAPTURE(one.name);
      for (const char *name : {"sm_120a", "gfx950"}) {
        CAPTURE(name);
        const machine::Machine &machine = machineNamed(name);
        ir::Kernel kernel = pipelined(one, machine);
        if (!passes::pipeline::hasRings(kernel)) continue; // loads that run ahead in registers
        REQUIRE(isSafe(kernel, machine));
        const std::size_t count = opsOf(kernel, {ir::OpKind::RingDrain, ir::OpKind::Meet}).size();
        // Where copies are grouped, threads that read what they have copied themselves do not meet:
        // those of a stream. Products read slots in place, also what others have copied.
        const bool isOwn = one.name.starts_with("stream") && machine.asyncCopies.areGrouped;
        CHECK(count == (isOwn ? 1 : 2));
        for (std::size_t i = 0; i < count; ++i) {
          CAPTURE(i);
          ir::Kernel without = kernel.clone();
          ir::Op *wait = opsOf(without, {ir::OpKind::RingDrain, ir::OpKind::Meet})[i];
          if (wait->kind == ir::OpKind::RingDrain) {
            ++wait->attrs<ir::CountAttrs>().count;
            CHECK_FALSE(isSafe(without, machine));
          }
          erase(without.body(), wait);
          CHECK_FALSE(isSafe(without, machine));
        }
      }
    }
}

namespace {

/// What the pass says of a kernel's loops on a machine.
std::string explained(const std::string &text, const char *target,
                      const analysis::Assumptions *assumptions = nullptr) {
  ir::Kernel kernel = parsedKernel(text);
  Diagnostics diagnostics;
  passes::PassContext context(diagnostics, machineNamed(target),
                              assumptions ? *assumptions : analysis::usualAssumptions(kernel));
  std::string explanation;
  context.explanation = &explanation;
  if (!runPasses(kernel, gpuPipeline(), context)) return diagnostics.render();
  const std::size_t from =
      std::min(explanation.find("loads of 'for'"), explanation.find("pipelined 'for'"));
  return from == std::string::npos ? "" : explanation.substr(from);
}

/// A stream with a body of its own.
std::string streamOf(const std::string &body, const std::string &attributes = "pipelined = 3") {
  return "kernel @k(%p: ptr<const f32>, %q: ptr<f32>, %n: i32, %v: view<const f32, 1>, %b: bool) "
         "stage tiles {\n"
         "%zero = constant 0 : i32\n%step = constant 256 : i32\n%i = arange : i32[256]\n%sum = "
         "constant 0.0 : f32[256]\n"
         "%p0 = broadcast %p : ptr<const f32>[256]\n%q0 = broadcast %q : ptr<f32>[256]\n"
         "%r = for %zero, %n, %step, %sum [" +
         attributes + "] (%k: i32, %s: f32[256]) {\n" + body +
         "} : f32[256]\n%to = ptr.add %q0, %i : ptr<f32>[256]\nstore %to, %r\n}\n";
}

const std::string kOffsets = "%kk = broadcast %k : i32[256]\n%o = add %kk, %i : i32[256]\n"
                             "%at = ptr.add %p0, %o : ptr<const f32>[256]\n";
const std::string kSum = "%t = add %s, %x : f32[256]\nyield %t\n";

} // namespace

TEST_CASE("a load that cannot run ahead stays, and the reason is told") {
  struct Left {
    std::string text, reason;
  };
  const Left left[]{
      {streamOf(kOffsets + "%x = load %at : f32[256]\n" + kSum, "pipelined = 1"),
       "one slot lets nothing overlap"},
      {streamOf("yield %s\n"), "it has no loads of its own"},
      {streamOf(kOffsets + "%x = load %at : f32[256]\nbreak_if %b, %s\n" + kSum),
       "k.imx:8 does not run ahead: 'break_if' at k.imx:13 may leave it in the middle of a trip"},
      {streamOf(kOffsets + "%x = load %at : f32[256]\nif %b {\nif %b {\nexit_if %b\nyield\n}\n" +
                "yield\n}\n" + kSum),
       "'exit_if' at k.imx:15 may leave it in the middle of a trip"},
      {streamOf(kOffsets + "%x = load %at : f32[256]\nwhile {\nexit_if %b\nbreak_if %b\nyield\n" +
                "}\n" + kSum),
       "'exit_if' at k.imx:14 may leave it in the middle of a trip"},
      {streamOf(kOffsets +
                "%x = load %at : f32[256]\n%one = constant 1.0 : f32\n"
                "%old = atomic_rmw %q, %one : f32\n" +
                kSum),
       "k.imx:8 does not run ahead: 'atomic_rmw' at k.imx:14 orders other accesses"},
      {streamOf("assert %b [text = \"no\"]\n" + kOffsets + "%x = load %at : f32[256]\n" + kSum),
       "it goes through pointers, and an assertion of an earlier trip may have to stop it"},
      {streamOf(kOffsets +
                "%x = load %at : f32[256]\nif %b {\nassert %b [text = \"no\"]\nyield\n}\n" + kSum),
       "it goes through pointers, and an assertion of an earlier trip may have to stop it"},
      {streamOf("%kk = broadcast %k : i32[256]\n%o = add %kk, %i : i32[256]\n"
                "%at = ptr.add %q0, %o : ptr<f32>[256]\n%x = load %at : f32[256]\nstore %at, %x\n" +
                kSum),
       "the loop may write what it reads"},
      {streamOf("%x0 = view.load %v, %k [padding = nan] : f32[256]\n%x = neg %x0 : f32[256]\n" +
                kSum),
       "what it gives outside of its mask or view is not zero"},
      {streamOf(kOffsets +
                "%j = load %at : f32[256]\n%c = cast %j : i32[256]\n"
                "%there = ptr.add %p0, %c : ptr<const f32>[256]\n"
                "%x = load %there : f32[256]\n" +
                kSum),
       "where it reads depends on 'load' at k.imx:12, in the loop"},
  };
  for (const Left &one : left) {
    CAPTURE(one.text);
    CHECK_MESSAGE(explained(one.text, "sm_80").find(one.reason) != std::string::npos,
                  explained(one.text, "sm_80"));
  }
}

TEST_CASE("a loop that stays as it is is told of once, whatever comes in front of it") {
  const std::string tile = "f32[256]", of = " = for %zero, %n, %one, ";
  const std::string words = explained(
      "kernel @k(%v: view<const f32, 1>, %w: view<const f32, 1>, %q: view<f32, 1>, "
      "%n: i32) stage tiles {\n%zero = constant 0 : i32\n%one = constant 1 : i32\n"
      "%none = constant 0.0 : " +
          tile + "\n%r" + of + "%none [pipelined = 1] (%k: i32, %s: " + tile +
          ") {\n%x = view.load %v, %k [padding = nan] : " + tile + "\n%t = add %s, %x : " + tile +
          "\nyield %t\n} : " + tile + "\n%u" + of + "%r [pipelined = 3] (%k: i32, %s: " + tile +
          ") {\n%x = view.load %v, %k : " + tile + "\n%y = view.load %w, %k : " + tile +
          "\n%z = add %x, %y : " + tile + "\n%t = add %s, %z : " + tile +
          "\nyield %t\n} : " + tile + "\nview.store %q, %u, %zero\n}\n",
      "sm_80");
  CHECK(words.find("pipelined 'for' at k.imx:5: as it is") != std::string::npos);
  CHECK(words.find("k.imx:5: ") == words.rfind("k.imx:5: "));
  CHECK(words.find("pipelined 'for' at k.imx:10: 3 slots\n") != std::string::npos);
}

TEST_CASE("a loop that stores elsewhere runs ahead, if nothing overlaps") {
  const std::string text =
      streamOf(kOffsets +
               "%to = ptr.add %q0, %o : ptr<f32>[256]\n%x = load %at : f32[256]\n"
               "store %to, %x\n" +
               kSum);
  CHECK(explained(text, "sm_80").find("runs ahead, in copies of ") != std::string::npos);
  const analysis::Assumptions none;
  CHECK(explained(text, "sm_80", &none).find("the loop may write what it reads") !=
        std::string::npos);
}

TEST_CASE("a loop inside that is left early holds up no load of the one around it") {
  const std::string text =
      streamOf(kOffsets + "%x = load %at : f32[256]\nwhile {\nbreak_if %b\nyield\n}\n" + kSum);
  CHECK(explained(text, "sm_80").find("runs ahead, in copies of ") != std::string::npos);
}

TEST_CASE("a view's load runs ahead of assertions, which cannot make it read anything else") {
  const std::string text =
      streamOf("assert %b [text = \"no\"]\n%x = view.load %v, %k : f32[256]\n" + kSum);
  CHECK(explained(text, "sm_80").find("runs ahead, in copies of ") != std::string::npos);
}

TEST_CASE("without asynchronous copies loads run ahead in registers, if there are enough of them") {
  const std::string text = streamOf(kOffsets + "%x = load %at : f32[256]\n" + kSum);
  CHECK(explained(text, "gfx942").find("one trip ahead in registers") != std::string::npos);
  CHECK(explained(text, "sm_75").find("'load' of 'p' at k.imx:12 runs ahead, in registers") !=
        std::string::npos);
  const std::string large =
      "kernel @k(%v: view<const f64, 1>, %q: ptr<f64>, %n: i32) stage tiles {\n"
      "%zero = constant 0 : i32\n%one = constant 1 : i32\n%sum = constant 0.0 : f64[8192]\n"
      "%r = for %zero, %n, %one, %sum [pipelined = 2] (%k: i32, %s: f64[8192]) {\n"
      "%x = view.load %v, %k : f64[8192]\n%t = add %s, %x : f64[8192]\nyield %t\n} : f64[8192]\n"
      "%y = reduce %r : f64\nstore %q, %y\n}\n";
  CHECK(explained(large, "sm_75").find("registers of a thread") != std::string::npos);
}

TEST_CASE("where copies land in lane order, loads that cannot be such run ahead in registers") {
  const auto streamOfBytes = [](const std::string &element) {
    return "kernel @k(%v: view<const " + element + ", 1>, %q: view<" + element +
           ", 1>, %n: i32) stage tiles {\n%zero = constant 0 : i32\n%one = constant 1 : i32\n"
           "%sum = constant 0 : " +
           element +
           "[256]\n%r = for %zero, %n, %one, %sum [pipelined = 3] (%k: i32, %s: " + element +
           "[256]) {\n%x = view.load %v, %k : " + element + "[256]\n%t = add %s, %x : " + element +
           "[256]\nyield %t\n} : " + element + "[256]\nview.store %q, %r, %zero\n}\n";
  };
  const std::string words = explained(streamOfBytes("i32"), "gfx950");
  CHECK(words.find("3 slots\n") != std::string::npos);
  CHECK(words.find("runs ahead, in copies of 16 bytes") != std::string::npos);
  const std::string bytes = explained(streamOfBytes("i8"), "gfx950");
  CHECK(bytes.find(" is not copied: ") != std::string::npos);
  CHECK(bytes.find("one trip ahead in registers") != std::string::npos);
}

TEST_CASE("what cannot be copied runs ahead in registers, beside what is copied") {
  const std::string text =
      streamOf(kOffsets + "%x0 = view.load %v, %k [padding = nan] : f32[256]\n" +
               "%x1 = load %at : f32[256]\n%x = add %x0, %x1 : f32[256]\n" + kSum);
  for (const char *machine : {"sm_80", "sm_90a", "gfx950"}) {
    const std::string words = explained(text, machine);
    CHECK_MESSAGE(words.find("'view.load' of 'v' at k.imx:12 runs ahead, in registers\n") !=
                      std::string::npos,
                  words);
    CHECK_MESSAGE(words.find("'load' of 'p' at k.imx:13 runs ahead, in copies of 16 bytes\n") !=
                      std::string::npos,
                  words);
  }
}

TEST_CASE("as many slots are taken as fit, and the bytes are told") {
  const auto product = [](const std::string &slots) {
    return "kernel @k(%a: view<const f32, 2>, %q: ptr<f32>, %n: i32) stage tiles {\n"
           "%zero = constant 0 : i32\n%one = constant 1 : i32\n%sum = constant 0.0 : f32[64x64]\n"
           "%r = for %zero, %n, %one, %sum [pipelined = " +
           slots +
           "] (%k: i32, %s: f32[64x64]) {\n"
           "%x = view.load %a, %zero, %k : f32[64x64]\n%t = add %s, %x : f32[64x64]\nyield %t\n"
           "} : f32[64x64]\n%rows = reduce %r : f32[64]\n%y = reduce %rows : f32\n"
           "store %q, %y\n}\n";
  };
  const std::string twenty = explained(product("20"), "sm_80");
  // The sums of rows are exchanged behind the loop, where slots were.
  CHECK(twenty.find("10 slots\n") != std::string::npos);
  CHECK(twenty.find("slots of 16384 bytes; a block has 166912 for them, beside 0 for exchanges "
                    "between threads: 20 do not fit\n") != std::string::npos);
  CHECK(explained(product("20"), "sm_120a").find("6 slots\n") != std::string::npos);
  CHECK(explained(product("20"), "sm_90a").find("13 slots\n") != std::string::npos);
  const std::string two = explained(product("2"), "sm_80");
  CHECK(two.find("2 slots\n") != std::string::npos);
  CHECK(two.find("do not fit") == std::string::npos);
  CHECK(explained(product("-1"), "sm_80").find("slots\n") != std::string::npos);
}

namespace {

/// A product in a loop, a · bᵀ, by four warps.
struct ProductLoop {
  std::string element, sum;
  int extent, depth; ///< Of the result along both axes; of a step along k.
  int slots = 3;
  int trips = 0; ///< 0: as many as the launch says.
};

std::string textOf(const ProductLoop &of) {
  const auto tile = [](const std::string &element, int rows, int columns) {
    return element + "[" + std::to_string(rows) + "x" + std::to_string(columns) + "]";
  };
  const std::string factor = tile(of.element, of.extent, of.depth),
                    transposed = tile(of.element, of.depth, of.extent),
                    sums = tile(of.sum, of.extent, of.extent),
                    trips = of.trips > 0 ? "%trips" : "%n";
  return "kernel @k(%a: view<const " + of.element + ", 2>, %b: view<const " + of.element +
         ", 2>, %c: view<" + of.sum + ", 2>, %n: i64) stage tiles [warps = 4] {\n" +
         "%zero = constant 0 : i64\n%one = constant 1 : i64\n%trips = constant " +
         std::to_string(of.trips) + " : i64\n%none = constant 0 : " + sums +
         "\n%all = for %zero, " + trips + ", %one, %none [pipelined = " + std::to_string(of.slots) +
         "] (%k: i64, %s: " + sums + ") {\n%x = view.load %a, %zero, %k : " + factor +
         "\n%y = view.load %b, %zero, %k : " + factor +
         "\n%t = permute %y [order = [1, 0]] : " + transposed + "\n%d = dot %x, %t, %s : " + sums +
         "\nyield %d\n} : " + sums + "\nview.store %c, %all, %zero, %zero\n}\n";
}

} // namespace

TEST_CASE("where reads are put in order, fragments are carried in all registers that there are") {
  const auto carried = [](const ProductLoop &of, std::string_view machine) {
    const TableKernel one{
        .name = "k", .kernel = parsedKernel(textOf(of)), .grid = {}, .arguments = {}};
    ir::Kernel kernel = pipelined(one, machineNamed(machine));
    constexpr std::size_t kSumsAndLoads = 3; // the loads of the next trip
    return opsOf(kernel, {ir::OpKind::For}).front()->results.size() - kSumsAndLoads;
  };
  const ProductLoop bytes{.element = "i8", .sum = "i32", .extent = 128, .depth = 64};
  CHECK(carried({.element = "f16", .sum = "f32", .extent = 128, .depth = 32}, "gfx1201") == 2);
  CHECK(carried(bytes, "gfx1201") == 2);
  // LLVM's own order takes more registers there: 3 were spilled.
  CHECK(carried(bytes, "gfx1100") == 0);
}

TEST_CASE("copies that nobody wants have one place for all rings") {
  // Two rings of three slots of 8 KiB, and 16 bytes for each of 256 threads.
  const machine::Machine &machine = machineNamed("gfx950");
  const std::string text = textOf({.element = "i8", .sum = "i32", .extent = 128, .depth = 64});
  CHECK(explained(text, "gfx950").find("a block has 159744 for them") != std::string::npos);
  const target::GpuTarget *target = target::findGpuTarget(machine);
  if (target == nullptr) return;
  ir::Kernel kernel = parsedKernel(text);
  const auto made = makeAssembly(codeOf(kernel, *target), *target);
  REQUIRE(made.ok());
  CHECK(made->find(".group_segment_fixed_size: 53248") != std::string::npos);
}

TEST_CASE("loops of any number of trips that is known do what was proven of their rings") {
  for (const char *name : {"sm_80", "gfx950", "gfx942"}) {
    const target::GpuTarget *target = target::findGpuTarget(machineNamed(name));
    if (target == nullptr) continue;
    for (const int slots : {2, 3})
      for (int trips = 1; trips <= 7; ++trips) {
        CAPTURE(name);
        CAPTURE(slots);
        CAPTURE(trips);
        ir::Kernel kernel = parsedKernel(textOf({.element = "f16",
                                                 .sum = "f32",
                                                 .extent = 16,
                                                 .depth = 32,
                                                 .slots = slots,
                                                 .trips = trips}));
        CHECK(makeAssembly(codeOf(kernel, *target), *target).ok());
      }
  }
}

TEST_CASE("threads copy for one loop, a role of its own loads for the next over the same numbers") {
  const std::string tile = "f32[32x32]", pointers = "ptr<const f32>[32x32]";
  const std::string words = explained(
      "kernel @k(%a: view<const f32, 2>, %p: ptr<const f32>, %out: view<f32, 2>, %n: i32) stage "
      "tiles {\n%zero = constant 0 : i32\n%one = constant 1 : i32\n%all = constant 1024 : i32\n"
      "%none = constant 0.0 : f32[32x32]\n%i = arange : i32[1024]\n%offsets = reshape %i : "
      "i32[32x32]\n%r = for %zero, %n, %one, %none [pipelined = 3] (%k: i32, %s: " +
          tile + ") {\n%far = mul %k, %all : i32\n%at = ptr.add %p, %far : ptr<const f32>\n" +
          "%b = broadcast %at : " + pointers + "\n%to = ptr.add %b, %offsets : " + pointers +
          "\n%x = load %to : " + tile + "\n%t = add %s, %x : " + tile + "\nyield %t\n} : " + tile +
          "\n%q = for %zero, %n, %one, %r [pipelined = 3] (%k: i32, %s: " + tile +
          ") {\n%x = view.load %a, %zero, %k : " + tile + "\n%t = add %s, %x : " + tile +
          "\nyield %t\n} : " + tile + "\nview.store %out, %q, %zero, %zero\n}\n",
      "sm_90a");
  CHECK_MESSAGE(words.find("in boxes of 32x32 that the engine loads") != std::string::npos, words);
  CHECK_MESSAGE(words.find("  by a role of its own\n") != std::string::npos, words);
}

namespace {

/// Loops in each other, each of which loads a tile.
std::string nestOf(const std::string &slots, int depth = 2) {
  const std::string tile = "f32[32x32]";
  std::string before;
  for (int loop = 0; loop < depth; ++loop) {
    const std::string n = std::to_string(loop), outer = std::to_string(loop - 1);
    const std::string index = loop == 0 ? "%zero" : "%k" + outer;
    before += "%r" + n + " = for %zero, %n, %one, " + (loop == 0 ? "%none" : "%t" + outer) +
              " [pipelined = " + slots + "] (%k" + n + ": i32, %s" + n + ": " + tile + ") {\n%x" +
              n + " = view.load %a, " + index + ", %k" + n + " : " + tile + "\n%t" + n +
              " = add %s" + n + ", %x" + n + " : " + tile + "\n";
  }
  // The innermost loop ends first.
  std::string ends;
  for (int loop = depth; loop-- > 0;)
    ends += "yield %" +
            (loop + 1 == depth ? "t" + std::to_string(loop) : "r" + std::to_string(loop + 1)) +
            "\n} : " + tile + "\n";
  return "kernel @k(%a: view<const f32, 2>, %out: view<f32, 2>, %n: i32) stage tiles {\n"
         "%zero = constant 0 : i32\n%one = constant 1 : i32\n%none = constant 0.0 : " +
         tile + "\n" + before + ends + "view.store %out, %r0, %zero, %zero\n}\n";
}

} // namespace

TEST_CASE("loops of which no proof is found with a role of its own go without, and it is told") {
  const std::string six = explained(nestOf("6"), "sm_90a");
  CHECK_MESSAGE(six.find("  by a role of its own\n") != std::string::npos, six);
  const std::string deep = explained(nestOf("4", 5), "sm_90a");
  CHECK_MESSAGE(deep.find("in boxes of 32x32 that the engine loads") != std::string::npos, deep);
  CHECK_MESSAGE(deep.find("no proof was found of a role of its own") != std::string::npos, deep);
}

TEST_CASE("loops in each other have no more slots than a proof has time for, and it is told") {
  const std::array<int, 3> most = {16, 6, 4};
  for (int depth = 1; depth <= 3; ++depth) {
    CAPTURE(depth);
    const std::string slots = std::to_string(most[static_cast<std::size_t>(depth) - 1]);
    const std::string some = explained(nestOf(slots, depth), "sm_80");
    CHECK_MESSAGE(some.find(": " + slots + " slots\n") != std::string::npos, some);
    CHECK_MESSAGE(some.find("could be proven") == std::string::npos, some);
    if (depth == 1) continue;
    const std::string many = explained(nestOf("16", depth), "sm_80");
    CHECK_MESSAGE(many.find(": " + slots + " slots\n") != std::string::npos, many);
    CHECK_MESSAGE(
        many.find(": 16 are more than could be proven beside those of the other loops\n") !=
            std::string::npos,
        many);
  }
}

TEST_CASE("so many loads in flight that a warp stalls are told where they are counted") {
  const auto told = [](const char *slots, const char *machine) {
    return explained("kernel @k(%v: view<const i32, 1>, %q: view<i32, 1>, %n: i32) stage tiles "
                     "[warps = 1] {\n%zero = constant 0 : i32\n%one = constant 1 : i32\n"
                     "%sum = constant 0 : i32[2048]\n%r = for %zero, %n, %one, %sum [pipelined = " +
                         std::string(slots) +
                         "] (%k: i32, %s: i32[2048]) {\n%x = view.load %v, %k : i32[2048]\n"
                         "%t = add %s, %x : i32[2048]\nyield %t\n} : i32[2048]\n"
                         "view.store %q, %r, %zero\n}\n",
                     machine)
               .find("loads of a warp are in flight: warps were seen to stall from 24 on") !=
           std::string::npos;
  };
  CHECK_FALSE(told("3", "gfx950")); // 2 trips of 8 loads
  CHECK(told("4", "gfx950"));
  CHECK_FALSE(told("4", "sm_80"));
}

TEST_CASE("no more slots are taken than code is to start, and it is told") {
  const auto words = [](const std::string &slots) {
    return explained(
        "kernel @k(%v: view<const f32, 1>, %out: view<f32, 1>, %n: i32) stage tiles {\n"
        "%zero = constant 0 : i32\n%one = constant 1 : i32\n"
        "%none = constant 0.0 : f32[64]\n%r = for %zero, %n, %one, %none [pipelined = " +
            slots +
            "] (%k: i32, %s: f32[64]) {\n%x = view.load %v, %k : f32[64]\n"
            "%t = add %s, %x : f32[64]\nyield %t\n} : f32[64]\n"
            "view.store %out, %r, %zero\n}\n",
        "sm_80");
  };
  constexpr const char *kWhy = " are more than are taken: the code that starts them";
  for (const char *slots : {"17", "500", "65536", "2147483647"}) {
    const std::string told = words(slots);
    CHECK_MESSAGE(told.find(": 16 slots\n") != std::string::npos, told);
    CHECK_MESSAGE(told.find(": " + std::string(slots) + kWhy) != std::string::npos, told);
  }
  CHECK(words("16").find(kWhy) == std::string::npos);
}

TEST_CASE("no more slots are taken than the loop's index can count ahead, and it is told") {
  const auto stream = [](const std::string &index, const std::string &step,
                         const std::string &slots) {
    return "kernel @k(%a: view<const i32, 2>, %q: view<i32, 2>, %low: " + index +
           ", %high: " + index + ") stage tiles {\n%zero = constant 0 : i32\n%step = constant " +
           step + " : " + index + "\n%none = constant 0 : i32[16x64]\n" +
           "%r = for %low, %high, %step, %none [pipelined = " + slots + "] (%k: " + index +
           ", %s: i32[16x64]) {\n%i = cast %k : i32\n"
           "%x = view.load %a, %zero, %i : i32[16x64]\n%t = add %s, %x : i32[16x64]\nyield %t\n"
           "} : i32[16x64]\nview.store %q, %r, %zero, %zero\n}\n";
  };
  struct Case {
    const char *index, *step, *asked, *taken;
  };
  constexpr const char *kTooMany = " are more than the loop's index can count ahead";
  const Case cases[]{{"i8", "64", "4", "4"},          {"i8", "64", "5", "4"},
                     {"i8", "127", "9", "3"},         {"u8", "255", "3", "2"},
                     {"i16", "16384", "5", "4"},      {"i32", "1073741824", "9", "4"},
                     {"u32", "2147483648", "3", "2"}, {"i64", "4611686018427387904", "5", "2"},
                     {"i8", "100", "-1", "3"}};
  for (const Case &one : cases)
    for (const char *target : {"sm_80", "gfx950"}) {
      const std::string text = stream(one.index, one.step, one.asked);
      CAPTURE(text);
      const std::string words = explained(text, target);
      if (std::string(one.asked) == "-1") {
        const std::size_t at = words.find(" slots\n");
        REQUIRE(at != std::string::npos);
        CHECK(words[at - 1] <= one.taken[0]);
      } else {
        CHECK_MESSAGE(words.find(std::string(one.taken) + " slots\n") != std::string::npos, words);
        CHECK((words.find(kTooMany) == std::string::npos) == (std::string(one.asked) == one.taken));
      }
      ir::Kernel kernel = parsedKernel(text);
      Diagnostics diagnostics;
      REQUIRE(runPasses(kernel, gpuPipeline(),
                        {diagnostics, machineNamed(target), analysis::usualAssumptions(kernel)}));
      CHECK(isSafe(kernel, machineNamed(target)));
    }
}

TEST_CASE("where one thread starts the engine's loads, what all threads do is counted once") {
  const machine::Machine &engine = machineNamed("sm_90a");
  machine::Machine plain = engine;
  plain.asyncCopies.haveEngine = false;
  for (const TableKernel &one : mixedLoads()) {
    CAPTURE(one.name);
    const auto lanesOf = [&](const machine::Machine &machine, std::size_t roles) {
      Diagnostics diagnostics;
      const ir::Kernel kernel = pipelined(one, machine);
      const auto read = passes::pipeline::readSchedule(kernel, machine, diagnostics,
                                                       passes::pipeline::ReadFor::Timeline);
      REQUIRE(read);
      CHECK(read->program.roles.size() == roles);
      std::int64_t lanes = 0;
      for (const schedule::Role &role : read->program.roles)
        schedule::forEachOp(role.body, [&](const schedule::ScheduleOp &op) {
          if (op.cost.resource == passes::pipeline::kLanes) lanes += op.cost.busy;
        });
      return lanes;
    };
    const std::int64_t lanes = lanesOf(plain, 1);
    CHECK(lanes > 8);
    constexpr std::int64_t kRounded = 8; // up, of each half
    CHECK(std::abs(lanesOf(engine, 2) - lanes) <= kRounded);
  }
}
