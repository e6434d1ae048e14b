#include "backend/ir/products.h"
#include "backend/ir/text.h"
#include "backend/passes/pipeline/loop_costs.h"
#include "backend/report.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "tests/support/assembler.h"
#include "tests/support/compile_error.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

namespace imbrex {
namespace {

using testing::compileError;
using testing::parsedKernel;

/// A machine of each family that there is code for.
std::vector<const machine::Machine *> oneOfEachFamily() {
  std::vector<const machine::Machine *> chosen;
  for (const machine::Machine &machine : machine::allMachines()) {
    const bool isKnown = llvm::any_of(
        chosen, [&](const machine::Machine *known) { return known->family == machine.family; });
    if (!isKnown && target::findGpuTarget(machine)) chosen.push_back(&machine);
  }
  return chosen;
}

TEST_CASE("inline assembly whose operands are wrong is reported at its line") {
  struct Wrong {
    std::string text, constraints, problem;
  };
  const Wrong wrong[]{{"mov $7, $1", "=r,r", "the text names operand $7 of 2"},
                      {"mov $0, $1", "nonsense", ""},
                      {"mov $0, $1", "=r", ""},
                      {"mov $0, $1", "", ""},
                      {"mov $0, $1", "=r,=r,r", ""},
                      {"mov $0, $1", "=r,r,!i", "label"},
                      {"mov $0, $1", "={r1},r", "an operand is in '{r1}', and can be in '"},
                      {"mov $0, $1", "=m,r", "an operand is in "},
                      {"mov $", "=r,r", "a '$' stands at the end of the text"}};
  for (const machine::Machine *machine : oneOfEachFamily())
    for (const Wrong &one : wrong) {
      CAPTURE(machine->name);
      CAPTURE(one.text);
      const auto error = compileError(
          parsedKernel(
              "kernel @k(%p: ptr<i32>, %s: i32) stage tiles {\n%a = inline_asm %s [text = \"" +
              one.text + "\", constraints = \"" + one.constraints + "\", target = \"" +
              std::string(machine->name) + "\"] : i32\nstore %p, %a\n}"),
          *machine);
      REQUIRE(error);
      CHECK(error->kind == Diag::BadAssembly);
      CHECK(error->where.line == 2);
      CHECK(error->message.find(one.problem) != std::string::npos);
    }
}

TEST_CASE("an op that wants more shared memory than a block has is reported at its line") {
  constexpr std::string_view kProducts = R"(
kernel @k(%a: view<const f32, 3>, %b: view<const f32, 3>, %c: view<f32, 3>) stage tiles {
  %z = constant 0 : i32
  %x = view.load %a, %z, %z, %z : f32[4096x4x2]
  %y = view.load %b, %z, %z, %z : f32[4096x2x2]
  %zero = constant 0.0 : f32[4096x4x2]
  %sum = dot %x, %y, %zero : f32[4096x4x2]
  view.store %c, %sum, %z, %z, %z
}
)";
  for (const machine::Machine *machine : oneOfEachFamily()) {
    CAPTURE(machine->name);
    const auto error = compileError(parsedKernel(std::string(kProducts)), *machine);
    REQUIRE(error);
    CHECK(error->kind == Diag::SharedMemoryOverflow);
    CHECK(error->where.line == 7);
  }
}

/// Rings of 16 KB tiles beside a reduction, in a loop.
std::string streamOf(int slots) {
  return "kernel @k(%a: view<const f32, 2>, %q: ptr<f32>, %n: i32) stage tiles {\n"
         "%zero = constant 0 : i32\n%one = constant 1 : i32\n%sum = constant 0.0 : f32[64x64]\n"
         "%r = for %zero, %n, %one, %sum [pipelined = " +
         std::to_string(slots) +
         "] (%k: i32, %s: f32[64x64]) {\n"
         "%x = view.load %a, %zero, %k : f32[64x64]\n%t = add %s, %x : f32[64x64]\nyield %t\n"
         "} : f32[64x64]\n%rows = reduce %r : f32[64]\n%y = reduce %rows : f32\n"
         "store %q, %y\n}\n";
}

TEST_CASE("a report says as JSON what a launch passes, and what it has to keep") {
  const std::string text = "kernel @k(%x: view<const f32, 2>, %n: i32, %q: ptr<f64>, %b: bool) "
                           "stage tiles {\n%a = view.load %x, %n, %n : f32[64x64]\n"
                           "print %a [text = \"a\"]\n}\n";
  struct Expected {
    bool isUsual;
    std::string_view assumptions;
  };
  constexpr Expected kExpected[]{
      {true,
       R"({"disjoint":true,"equal_extents":[],"parameters":[)"
       R"({"assumed":["divisible","unit_stride","divisible_rows","small_extents","small_span"],)"
       R"("parameter":"x"},{"assumed":["divisible"],"parameter":"n"},)"
       R"({"assumed":["divisible"],"parameter":"q"},{"assumed":[],"parameter":"b"}]})"},
      {false, R"({"disjoint":false,"equal_extents":[],"parameters":[)"
              R"({"assumed":[],"parameter":"x"},{"assumed":[],"parameter":"n"},)"
              R"({"assumed":[],"parameter":"q"},{"assumed":[],"parameter":"b"}]})"}};
  constexpr std::string_view kArguments =
      R"("arguments":[{"bytes":8,"kind":"pointer","parameter":"x"},)"
      R"({"axis":0,"bytes":8,"kind":"extent","parameter":"x"},)"
      R"({"axis":1,"bytes":8,"kind":"extent","parameter":"x"},)"
      R"({"axis":0,"bytes":8,"kind":"stride","parameter":"x"},)"
      R"({"axis":1,"bytes":8,"kind":"stride","parameter":"x"},)"
      R"({"bytes":4,"kind":"scalar","parameter":"n"},{"bytes":8,"kind":"pointer","parameter":"q"},)"
      R"({"bytes":1,"kind":"scalar","parameter":"b"},{"bytes":8,"kind":"observations"}])";
  for (const machine::Machine *machine : oneOfEachFamily())
    for (const Expected &expected : kExpected) {
      CAPTURE(machine->name);
      CAPTURE(expected.isUsual);
      ir::Kernel kernel = parsedKernel(text);
      Diagnostics diagnostics;
      const auto assumptions =
          expected.isUsual ? analysis::usualAssumptions(kernel) : analysis::Assumptions{};
      const auto code =
          compileForGpu(kernel, target::gpuTarget(*machine), assumptions, diagnostics);
      REQUIRE_MESSAGE(code, diagnostics.render());
      const auto report = reportOf(*code, target::gpuTarget(*machine));
      REQUIRE(report);
      CHECK(toJson(*report).find(kArguments) != std::string::npos);
      CHECK(toJson(*report).find(expected.assumptions) != std::string::npos);
    }
}

TEST_CASE("a report says what launches ask for") {
  const auto *machine = machine::findMachine("sm_90a");
  if (target::findGpuTarget(*machine) == nullptr) return;
  const target::GpuTarget &target = target::gpuTarget(*machine);
  const auto reportFor = [&](const std::string &asked) {
    ir::Kernel kernel = parsedKernel("kernel @k(%q: ptr<f32>) stage tiles " + asked +
                                     "{\n%x = constant 1.0 : f32\nstore %q, %x\n}\n");
    Diagnostics diagnostics;
    const auto code = compileForGpu(kernel, target, {}, diagnostics);
    REQUIRE_MESSAGE(code, diagnostics.render());
    const auto report = reportOf(*code, target);
    REQUIRE(report);
    return std::pair(toText(*report), toJson(*report));
  };
  const auto has = [](const std::string &text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  const auto [plain, plainJson] = reportFor("");
  CHECK_FALSE(has(plain, "asked for"));
  CHECK(has(plainJson, R"("launch":{"cluster":[1,1,1],"cooperative":false,"programmatic":false})"));
  const auto [all, allJson] =
      reportFor("[warps = 2, cluster = [2, 1, 4], cooperative = true, programmatic = true] ");
  CHECK(has(all, " 2 warps, clusters of 2 x 1 x 4, cooperative, programmatic\n"));
  CHECK(has(allJson, R"("launch":{"cluster":[2,1,4],"cooperative":true,"programmatic":true})"));
  CHECK(has(reportFor("[programmatic = true] ").first, " programmatic\n"));
}

TEST_CASE("what a block does not have without asking is one array that the launch gives it" *
          doctest::test_suite("toolkit")) {
  for (const char *name : {"sm_80", "sm_90a", "sm_120a"}) {
    CAPTURE(name);
    const machine::Machine *machine = machine::findMachine(name);
    if (!target::findGpuTarget(*machine)) continue;
    for (const int slots : {2, 4}) {
      CAPTURE(slots);
      ir::Kernel kernel = parsedKernel(streamOf(slots));
      Diagnostics diagnostics;
      const analysis::Assumptions usual = analysis::usualAssumptions(kernel);
      const auto code = compileForGpu(kernel, target::gpuTarget(*machine), usual, diagnostics);
      REQUIRE_MESSAGE(code, diagnostics.render());
      const lower::KernelInterface &interface = code->interface;
      CHECK(interface.sharedMemoryBytes >= slots * 16384);
      const bool asks = interface.sharedMemoryBytes > machine->staticSharedMemoryBytes;
      CHECK(asks == (slots == 4));
      CHECK(interface.bytesAtLaunch == (asks ? interface.sharedMemoryBytes : 0));
      const auto asLaunched = code->copy();
      for (const llvm::GlobalVariable &array : asLaunched->globals()) {
        if (array.getAddressSpace() != 3) continue;
        CHECK(array.isDeclaration() == asks);
        CHECK(array.getAlign().valueOrOne() >= 16);
      }
      const std::string assembly = *target::gpuTarget(*machine).assembly(*code->copy());
      CHECK((assembly.find(".b8 shared[]") != std::string::npos) == asks);
      CHECK((assembly.find(".extern .shared") != std::string::npos) == asks);
      const auto report = reportOf(*code, target::gpuTarget(*machine));
      REQUIRE(report);
      CHECK(report->resources.sharedMemoryBytes == interface.sharedMemoryBytes);
      CHECK((toText(*report).find(", which the launch must ask for\n") != std::string::npos) ==
            asks);
      CHECK(report->noImage.has_value() != testing::canAssemble(target::gpuTarget(*machine)));
      if (report->noImage) continue;
      CHECK(report->occupancy.blocksPerCore ==
            machine::occupancyOf(*machine, {.threads = interface.threads,
                                            .registersPerThread = report->resources.registers,
                                            .sharedMemoryBytes = interface.sharedMemoryBytes})
                .blocksPerCore);
    }
  }
}

TEST_CASE("a report says as JSON which boxes an engine loads") {
  const machine::Machine *machine = machine::findMachine("sm_90a");
  if (!target::findGpuTarget(*machine)) return;
  ir::Kernel kernel = parsedKernel(streamOf(3));
  Diagnostics diagnostics;
  const analysis::Assumptions usual = analysis::usualAssumptions(kernel);
  const auto code = compileForGpu(kernel, target::gpuTarget(*machine), usual, diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  const auto report = reportOf(*code, target::gpuTarget(*machine));
  REQUIRE(report);
  CHECK(toJson(*report).find(R"({"box":[64,32],"bytes":128,"element_bytes":4,"kind":"box_map",)"
                             R"("parameter":"a","swizzle_bytes":128}])") != std::string::npos);
  CHECK(toJson(*report).find(
            R"("divisible_rows","small_extents","small_span","boxes"],"parameter":"a"})") !=
        std::string::npos);
}

TEST_CASE("a report says what matrix units do in a loop") {
  constexpr std::string_view kProduct = R"(
kernel @k(%a: view<const f16, 2>, %b: view<const f16, 2>, %c: view<f32, 2>) stage tiles {
  %m = program_id [axis = 0] : i32
  %n = program_id [axis = 1] : i32
  %0 = constant 0 : i64
  %1 = constant 1 : i64
  %2 = view.extent %a [axis = 1] : i64
  %3 = constant 32 : i64
  %4 = cdiv %2, %3 : i64
  %5 = constant 0.0 : f32[128x128]
  %6 = for %0, %4, %1, %5 [pipelined = 3] (%k: i64, %sum: f32[128x128]) {
    %x = view.load %a, %m, %k : f16[128x32]
    %y = view.load %b, %k, %n : f16[32x128]
    %next = dot %x, %y, %sum : f32[128x128]
    yield %next
  } : f32[128x128]
  view.store %c, %6, %m, %n
}
)";
  struct Expected {
    const char *machine;
    std::string text, json;
  };
  // By four warps, a partition each: 64 times 8 cycles.
  const Expected all[]{
      {"sm_80",
       "    a warp, a trip    64 x nvvm.mma.m16n8k16.row.col.f32.f32\n"
       "    busy              512 of 512 cycles of a trip, 100 %; limited by matrix units\n",
       R"("cycles":512,"limit":"matrix units","matrix_instructions":)"
       R"({"nvvm.mma.m16n8k16.row.col.f32.f32":64},"unit_cycles":512,"unit_share":1)"},
      {"sm_100a",
       "    a warp, a trip    64 x nvvm.mma.m16n8k16.row.col.f32.f32\n"
       "    busy              512 of 512 cycles of a trip, which no document says and is a guess, ",
       R"("are_unit_cycles_known":false,"at":)"}};
  for (const Expected &expected : all) {
    CAPTURE(expected.machine);
    const machine::Machine *machine = machine::findMachine(expected.machine);
    if (!target::findGpuTarget(*machine)) continue;
    ir::Kernel kernel = parsedKernel(kProduct);
    Diagnostics diagnostics;
    const auto code = compileForGpu(kernel, target::gpuTarget(*machine),
                                    analysis::usualAssumptions(kernel), diagnostics);
    REQUIRE_MESSAGE(code, diagnostics.render());
    const auto report = reportOf(*code, target::gpuTarget(*machine));
    REQUIRE(report);
    const std::string text = toText(*report);
    CAPTURE(text);
    CHECK(text.find("  matrix units        in the loop at ") != std::string::npos);
    CHECK(text.find(expected.text) != std::string::npos);
    CAPTURE(toJson(*report));
    CHECK(toJson(*report).find(expected.json) != std::string::npos);
    REQUIRE(report->loops.size() == 1);
  }
}

TEST_CASE(
    "a report says what matrix units do outside of loops, but not what a loop leaves behind it") {
  const machine::Machine &machine = *machine::findMachine("sm_80");
  if (target::findGpuTarget(machine) == nullptr) return;
  const auto reported = [&](const std::string &loop) {
    ir::Kernel kernel = parsedKernel(R"(
kernel @k(%a: view<const f16, 2>, %c: view<f32, 2>, %n: i32) stage tiles {
  %0 = constant 0 : i32
  %1 = constant 1 : i32
  %z = constant 0.0 : f32[64x64]
  %x = view.load %a, %0, %0 : f16[64x64]
  %s = dot %x, %x, %z : f32[64x64]
  view.store %c, %s, %0, %0
)" + loop + "}\n");
    Diagnostics diagnostics;
    const auto code = compileForGpu(kernel, target::gpuTarget(machine),
                                    analysis::usualAssumptions(kernel), diagnostics);
    REQUIRE_MESSAGE(code, diagnostics.render());
    auto report = reportOf(*code, target::gpuTarget(machine));
    REQUIRE(report);
    return *report;
  };
  const std::string kOutside = "  matrix units        outside of loops\n"
                               "    a warp            32 x nvvm.mma.m16n8k16.row.col.f32.f32\n"
                               "    busy              256 cycles\n";
  const Report alone = reported("");
  CHECK(alone.loops.empty());
  CHECK_MESSAGE(toText(alone).find(kOutside) != std::string::npos, toText(alone));
  CHECK(toJson(alone).find(
            R"("matrix_units_outside_loops":{"are_unit_cycles_known":true,"matrix_instructions":)"
            R"({"nvvm.mma.m16n8k16.row.col.f32.f32":32},"unit_cycles":256})") != std::string::npos);
  const Report beside = reported(R"(
  %t = for %0, %n, %1, %z [pipelined = 3] (%k: i32, %sum: f32[64x64]) {
    %u = view.load %a, %0, %k : f16[64x64]
    %v = view.load %a, %k, %0 : f16[64x64]
    %d = dot %u, %v, %sum : f32[64x64]
    yield %d
  } : f32[64x64]
  view.store %c, %t, %1, %0
)");
  REQUIRE(beside.loops.size() == 1);
  CHECK(beside.loops[0].products[0].count == 32);
  CHECK_MESSAGE(toText(beside).find(kOutside) != std::string::npos, toText(beside));
}

TEST_CASE("a warp's share of a product is what its code issues, whatever the extents") {
  for (const machine::Machine *machine : oneOfEachFamily())
    for (const auto &[m, n] : {std::pair{96, 80}, {48, 40}, {64, 64}, {24, 128}}) {
      CAPTURE(machine->name);
      CAPTURE(m);
      CAPTURE(n);
      const std::string tile = "f32[" + std::to_string(m) + "x" + std::to_string(n) + "]",
                        x = "f16[" + std::to_string(m) + "x32]",
                        y = "f16[32x" + std::to_string(n) + "]";
      ir::Kernel kernel = parsedKernel(
          "kernel @k(%a: view<const f16, 2>, %b: view<const f16, 2>, %c: view<f32, 2>) stage tiles"
          " {\n%0 = constant 0 : i64\n%z = constant 0.0 : " +
          tile + "\n%x = view.load %a, %0, %0 : " + x + "\n%y = view.load %b, %0, %0 : " + y +
          "\n%s = dot %x, %y, %z : " + tile + "\nview.store %c, %s, %0, %0\n}\n");
      Diagnostics diagnostics;
      const auto code = compileForGpu(kernel, target::gpuTarget(*machine),
                                      analysis::usualAssumptions(kernel), diagnostics);
      REQUIRE(code);
      const ir::Op *dot = ir::firstOp(kernel.body(), ir::isOnUnit);
      REQUIRE(dot != nullptr);
      const std::string unit = "llvm." + ir::unitAttrs(*dot).unit;
      std::int64_t calls = 0;
      for (const llvm::Instruction &of :
           llvm::instructions(*code->module->getFunction(code->interface.name)))
        if (const auto *call = llvm::dyn_cast<llvm::CallInst>(&of))
          calls += call->getCalledFunction() != nullptr &&
                   call->getCalledFunction()->getName().starts_with(unit);
      CHECK(calls == passes::pipeline::matrixInstructionsOf(kernel, *dot, *machine));
    }
}

TEST_CASE("a ring that no launch can have is reported at its line, with the bytes") {
  const auto ringOf = [](int slots, bool isWide) {
    const std::string elements = isWide ? "256" : "128", lane = isWide ? ",[128]" : "";
    return parsedKernel(
        "kernel @k(%p: ptr<const f32>) stage scheduled lanes " + std::string(isWide ? "64" : "32") +
        " warps 1 {\nlayout #0 = register [[1],[2]] lane [[4],[8],[16],[32],[64]" + lane +
        "] warp [] of [" + elements + "]\n%r = ring.new [slots = " + std::to_string(slots) +
        "] : ring<f32[" + elements + "]> #0\n}\n");
  };
  for (const machine::Machine *machine : oneOfEachFamily()) {
    CAPTURE(machine->name);
    const bool isWide = machine->warpSize == 64;
    const std::int32_t slotBytes = isWide ? 1024 : 512;
    const std::int32_t most = machine->sharedMemoryBytes / slotBytes;
    CHECK_FALSE(compileError(ringOf(most, isWide), *machine));
    for (const std::int32_t slots : {most + 1, 65'536}) {
      const auto error = compileError(ringOf(slots, isWide), *machine);
      REQUIRE(error);
      CHECK(error->kind == Diag::SharedMemoryOverflow);
      CHECK(error->where.line == 3);
      CHECK(error->message == "this takes " + std::to_string(std::int64_t{slots} * slotBytes) +
                                  " bytes of shared memory; a block on " +
                                  std::string(machine->name) + " has " +
                                  std::to_string(machine->sharedMemoryBytes));
    }
  }
}

TEST_CASE("a kernel that is laid out compiles again, for a machine with its warps") {
  const ir::Kernel source = parsedKernel(R"(
kernel @k(%p: ptr<i32>) stage tiles {
  %i = arange : i32[256]
  %to = broadcast %p : ptr<i32>[256]
  %at = ptr.add %to, %i : ptr<i32>[256]
  store %at, %i
}
)");
  for (const machine::Machine *machine : oneOfEachFamily()) {
    CAPTURE(machine->name);
    ir::Kernel laid = source.clone();
    Diagnostics diagnostics;
    REQUIRE(compileForGpu(laid, target::gpuTarget(*machine), {}, diagnostics));
    REQUIRE(laid.stage() == ir::Stage::Scheduled);
    const ir::Kernel read = parsedKernel(ir::print(laid));
    for (const machine::Machine &other : machine::allMachines()) {
      if (!target::findGpuTarget(other)) continue;
      CAPTURE(other.name);
      const auto error = compileError(read.clone(), other);
      CHECK(error.has_value() == (other.warpSize != machine->warpSize));
      if (error) CHECK(error->kind == Diag::ForeignLayouts);
    }
  }
}

TEST_CASE("an engine loads no boxes of a view that a pointer of several may write") {
  const machine::Machine &machine = *machine::findMachine("sm_90a");
  if (target::findGpuTarget(machine) == nullptr) return;
  const auto errorWhere = [&](const std::string &pointer) -> std::optional<Diag> {
    ir::Kernel kernel = parsedKernel(R"(
kernel @k(%v: view<f32, 2>, %y: ptr<f32>, %z: ptr<f32>, %n: i32, %b: bool)
    stage scheduled lanes 32 warps 1 {
  layout #0 = register [[0,1],[0,2],[0,4]] lane [[1,0],[2,0],[4,0],[0,8],[0,16]] warp [] of [8x32]
  layout #1 = offset [[0,1],[0,2],[0,4],[0,8],[0,16],[1,4],[2,8],[4,16]] of [8x32]
  %full = barrier.new : barrier
  %r = ring.new [by = boxes] : ring<f32[8x32]> #0
  %0 = constant 0 : i32
  barrier.expect %full [bytes = 1024]
  ring.load_box %r, %full, %v, %0, %0
  barrier.wait %full
  %x_at = ring.slot %r : shared<f32[8x32]> #1
  %x = shared.load %x_at : f32[8x32] #0
  %data = view.data %v : ptr<f32>
  %one = constant 1 : f32
  %to = )" + pointer + R"( : ptr<f32>
  store %to, %one
}
)");
    Diagnostics diagnostics;
    compileForGpu(kernel, target::gpuTarget(machine), analysis::usualAssumptions(kernel),
                  diagnostics);
    return diagnostics.all().empty() ? std::nullopt : std::optional(diagnostics.all()[0].kind);
  };
  CHECK(errorWhere("select %b, %y, %z") == Diag::PipelineBoxWritten); // nobody knows which
  CHECK(errorWhere("select %b, %data, %y") == Diag::PipelineBoxWritten);
  CHECK(errorWhere("ptr.add %data, %n") == Diag::PipelineBoxWritten);
  CHECK(errorWhere("ptr.add %y, %n") == std::nullopt);
}

TEST_CASE("a block of few warps has the units of as many partitions") {
  const machine::Machine &machine = *machine::findMachine("sm_80");
  if (target::findGpuTarget(machine) == nullptr) return;
  for (const int warps : {1, 2, 8}) {
    CAPTURE(warps);
    ir::Kernel kernel = parsedKernel(
        "kernel @k(%a: view<const f16, 2>, %c: view<f32, 2>) stage tiles [warps = " +
        std::to_string(warps) +
        "] {\n%0 = constant 0 : i32\n%1 = constant 1 : i32\n%n = constant 9 : i32\n"
        "%z = constant 0.0 : f32[64x64]\n%s = for %0, %n, %1, %z (%k: i32, %sum: f32[64x64]) {\n"
        "%x = view.load %a, %0, %k : f16[64x64]\n%d = dot %x, %x, %sum : f32[64x64]\nyield %d\n} "
        ": f32[64x64]\nview.store %c, %s, %0, %0\n}\n");
    Diagnostics diagnostics;
    REQUIRE(compileForGpu(kernel, target::gpuTarget(machine), analysis::usualAssumptions(kernel),
                          diagnostics));
    const auto shareOfCore = [&](std::int32_t blocks) {
      const std::vector<LoopOnUnits> loops = loopsOnUnits(kernel, machine, blocks);
      REQUIRE(loops.size() == 1);
      return loops[0].shareOfCore.value();
    };
    const double share = loopsOnUnits(kernel, machine, 0).at(0).share();
    const int parts = std::max(1, machine.partitionsPerCore / warps);
    CHECK(shareOfCore(1) == doctest::Approx(share / parts));
    CHECK(shareOfCore(parts) <= doctest::Approx(share));
    CHECK(shareOfCore(parts) > 0.8 * share); // shared memory is one for all
    CHECK(shareOfCore(2 * parts) >= shareOfCore(parts));
  }
}

TEST_CASE("a loop's time on the units has that of the loops in it") {
  const machine::Machine &machine = *machine::findMachine("sm_80");
  if (target::findGpuTarget(machine) == nullptr) return;
  ir::Kernel kernel = parsedKernel(R"(
kernel @k(%a: view<const f16, 2>, %c: view<f32, 2>, %n: i32) stage tiles {
  %0 = constant 0 : i32
  %1 = constant 1 : i32
  %z = constant 0.0 : f32[64x64]
  for %0, %n, %1 (%j: i32) {
    %s = for %0, %n, %1, %z [pipelined = 2] (%k: i32, %sum: f32[64x64]) {
      %x = view.load %a, %j, %k : f16[64x64]
      %d = dot %x, %x, %sum : f32[64x64]
      yield %d
    } : f32[64x64]
    %y = view.load %a, %j, %0 : f16[64x64]
    %e = dot %y, %y, %s : f32[64x64]
    view.store %c, %e, %j, %0
    yield
  }
}
)");
  Diagnostics diagnostics;
  REQUIRE(compileForGpu(kernel, target::gpuTarget(machine), analysis::usualAssumptions(kernel),
                        diagnostics));
  const std::vector<LoopOnUnits> loops = loopsOnUnits(kernel, machine, 2);
  REQUIRE(loops.size() == 2);
  const bool isInnerFirst = !loops[0].hasLoops;
  const LoopOnUnits &inner = loops[isInnerFirst ? 0 : 1], &outer = loops[isInnerFirst ? 1 : 0];
  CHECK(!inner.hasLoops);
  REQUIRE(outer.hasLoops);
  CHECK(outer.unitCycles > LoopOnUnits::kInnerTrips * inner.unitCycles);
  CHECK(outer.unitCycles < (LoopOnUnits::kInnerTrips + 4) * inner.unitCycles);
  CHECK(outer.share() > 0.5 * inner.share());
  CHECK(outer.shareOfCore.value() > 0.5 * inner.shareOfCore.value());
}

} // namespace
} // namespace imbrex
