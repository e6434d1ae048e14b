#include "backend/compile.h"
#include "backend/ir/text.h"
#include "backend/passes/pipeline/read_schedule.h"
#include "backend/report.h"

#include <doctest/doctest.h>

namespace imbrex {
namespace {

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

ir::Kernel kernelOf(const std::string &text) {
  Diagnostics diagnostics;
  auto kernel = ir::parse(text, "test.imx", diagnostics);
  REQUIRE_MESSAGE(kernel, diagnostics.render());
  return std::move(*kernel);
}

/// The only error of a compilation; none where it has gone well.
std::optional<Diagnostic> errorOf(ir::Kernel kernel, const machine::Machine &machine) {
  Diagnostics diagnostics;
  const auto code = compileForGpu(kernel, target::gpuTarget(machine), {}, diagnostics);
  CHECK(code.has_value() == diagnostics.all().empty());
  if (code) return std::nullopt;
  REQUIRE(diagnostics.all().size() == 1);
  return diagnostics.all()[0];
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
      const auto error = errorOf(
          kernelOf("kernel @k(%p: ptr<i32>, %s: i32) stage tiles {\n%a = inline_asm %s [text = \"" +
                   one.text + "\", constraints = \"" + one.constraints + "\", target = \"" +
                   std::string(machine->name) + "\"] : i32\nstore %p, %a\n}"),
          *machine);
      REQUIRE(error);
      CHECK(error->kind == Diag::BadAssembly);
      CHECK(error->where.line == 2);
      CHECK(error->message.find(one.problem) != std::string::npos);
    }
}

/// What making an image says; empty where no assembler is installed, or it says nothing.
std::string refusalOf(ir::Kernel kernel, const machine::Machine &machine) {
  Diagnostics diagnostics;
  const target::GpuTarget &target = target::gpuTarget(machine);
  const auto code = compileForGpu(kernel, target, {}, diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  const auto object = makeObject(*code, target);
  if (object || object.error().kind == Diag::NoAssembler) return {};
  return render(object.error());
}

TEST_CASE("instructions that the assembler refuses are reported at their line, in its words") {
  struct Wrong {
    std::string_view machine;
    std::string text, constraints, said;
  };
  const Wrong wrong[]{
      {"sm_80", "frob.b32 $0, $1;", "=r,r",
       "ptxas says \"Not a name of any known instruction: 'frob'\" to 'frob.b32 "},
      {"sm_80", "add.s32 $0, $1;", "=r,r", "Arguments mismatch for instruction 'add'"},
      {"sm_80", "mov.b32 $0, $1;\\nadd.s32 $0, $0, 1", "=r,r", "\" to 'add.s32 "},
      {"sm_80", "{ mov.b32 $0, $1;", "=r,r", "\" to '{ mov.b32 "},
      {"gfx942", "v_frob $0, $1", "=v,v", "LLVM says \"invalid instruction\" to 'v_frob v"},
      {"gfx942", "v_mov_b32 $0, $1\\nv_add_u32 $0, $1", "=v,v",
       "LLVM says \"too few operands for instruction\" to 'v_add_u32 v"},
      {"gfx1100", "v_mov_b32 $0, $1", "=v,a",
       "LLVM says \"couldn't allocate input reg for constraint 'a'\"\n"}};
  for (const Wrong &one : wrong) {
    CAPTURE(one.machine);
    CAPTURE(one.text);
    const machine::Machine &machine = *machine::findMachine(one.machine);
    if (!target::findGpuTarget(machine)) continue;
    const bool isNvidia = machine.family == machine::Family::Nvptx;
    const auto assembly = [&](const std::string &text, const std::string &constraints) {
      return " [text = \"" + text + "\", constraints = \"" + constraints + "\", target = \"" +
             std::string(machine.name) + "\"] : i32[256]\n";
    };
    const std::string right = isNvidia ? "mov.b32 $0, $1;" : "v_mov_b32 $0, $1";
    const std::string said = refusalOf(
        kernelOf("kernel @k(%p: view<i32, 1>) stage tiles {\n%z = constant 0 : i32\n"
                 "%x = view.load %p, %z : i32[256]\n%a = inline_asm %x" +
                 assembly(right, isNvidia ? "=r,r" : "=v,v") + "%b = inline_asm %a" +
                 assembly(one.text, one.constraints) + "%c = inline_asm %b" +
                 assembly(right, isNvidia ? "=r,r" : "=v,v") + "view.store %p, %c, %z\n}"),
        machine);
    if (said.empty() && isNvidia) continue; // no assembler is installed
    CHECK_MESSAGE(said.starts_with("test.imx:5: error: the instructions of inline_asm do not "
                                   "assemble: "),
                  said);
    CHECK_MESSAGE(said.find(one.said) != std::string::npos, said);
    CHECK_MESSAGE(said.find("hint: ") != std::string::npos, said);
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
    const auto error = errorOf(kernelOf(std::string(kProducts)), *machine);
    REQUIRE(error);
    CHECK(error->kind == Diag::SharedMemoryOverflow);
    CHECK(error->where.line == 7);
  }
}

/// An empty kernel with so many parameters of 8 bytes between others.
ir::Kernel kernelOfWords(const std::string &before, int words, const std::string &after) {
  std::string parameters = before;
  for (int i = 0; i < words; ++i)
    parameters += (parameters.empty() ? "%w" : ", %w") + std::to_string(i) + ": i64";
  return kernelOf("\nkernel @k(" + parameters + after + ") stage tiles {\n}");
}

TEST_CASE("parameters that no launch passes are refused at the kernel's line") {
  struct Limit {
    std::string_view machine;
    int words;         // of 8 bytes that fit
    std::string after; // fits beside them
    int bytes;         // that it all takes
  };
  const Limit limits[]{{"sm_80", 544, "", 4352},
                       {"sm_90a", 543, ", %a: i32, %b: i8, %c: i8, %d: i16", 4352},
                       {"sm_100a", 4095, ", %a: f32", 32764},
                       {"gfx942", 32736, "", 261888}};
  for (const Limit &limit : limits) {
    CAPTURE(limit.machine);
    const machine::Machine &machine = *machine::findMachine(limit.machine);
    if (!target::findGpuTarget(machine)) continue;
    const auto error = errorOf(kernelOfWords("", limit.words, limit.after + ", %e: i8"), machine);
    REQUIRE(error);
    CHECK(render(*error) == "test.imx:2: error: the parameters of kernel 'k' take " +
                                std::to_string(limit.bytes + 1) + " bytes; a launch on " +
                                std::string(limit.machine) + " passes " +
                                std::to_string(limit.bytes) +
                                "\n  hint: put numbers into memory and pass a pointer to them; a "
                                "view takes 8 bytes and 16 for each axis\n");
    const bool isQuick = limit.bytes < 100000;
    if (isQuick) CHECK_FALSE(errorOf(kernelOfWords("", limit.words, limit.after), machine));
    // What stands between them for alignment counts, too.
    CHECK_FALSE(errorOf(kernelOfWords("%e: i8", 542, ""), machine));
    CHECK(errorOf(kernelOfWords("%e: i8", limit.words, ""), machine).has_value() ==
          (8 + 8 * limit.words > limit.bytes));
  }
}

TEST_CASE("the longest parameters that are taken have code") {
  for (const auto &[name, words, after] :
       {std::tuple("sm_80", 544, ""), std::tuple("sm_100a", 4095, ", %a: i32")}) {
    CAPTURE(name);
    const machine::Machine &machine = *machine::findMachine(name);
    const target::GpuTarget *target = target::findGpuTarget(machine);
    if (!target) continue;
    ir::Kernel kernel = kernelOfWords("", words, after);
    Diagnostics diagnostics;
    const auto code = compileForGpu(kernel, *target, {}, diagnostics);
    REQUIRE(code);
    const auto object = makeObject(*code, *target);
    if (!object && object.error().kind == Diag::NoAssembler) continue;
    CHECK_MESSAGE(object.ok(), render(object.error()));
  }
}

TEST_CASE("a function that may have to branch keeps to the registers of a thread on large tiles") {
  // 32 elements a thread, of which each function takes a few registers at a time.
  for (const char *name : {"sm_90a", "gfx942"})
    for (const std::string function : {"sin %x", "tan %x", "rem %x, %z"}) {
      CAPTURE(name);
      CAPTURE(function);
      const target::GpuTarget *target = target::findGpuTarget(*machine::findMachine(name));
      if (!target) continue;
      ir::Kernel kernel = kernelOf(
          "kernel @k(%p: view<const f32, 1>, %q: view<f32, 1>) stage tiles {\n%i = program_id : "
          "i32\n%x = view.load %p, %i : f32[8192]\n%z = view.load %q, %i : f32[8192]\n%y = " +
          function + " : f32[8192]\nview.store %q, %y, %i\n}");
      Diagnostics diagnostics;
      const analysis::Assumptions usual = analysis::usualAssumptions(kernel);
      const auto code = compileForGpu(kernel, *target, usual, diagnostics);
      REQUIRE_MESSAGE(code, diagnostics.render());
      const auto object = makeObject(*code, *target);
      if (!object && object.error().kind == Diag::NoAssembler) continue;
      REQUIRE_MESSAGE(object.ok(), render(object.error()));
      const target::Resources resources = target->resources(*object);
      CHECK(resources.stackBytes == 0);
      CHECK(resources.registers <= 224);
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
      {true, R"({"disjoint":true,"equal_extents":[],"parameters":[)"
             R"({"assumed":["divisible","unit_stride","divisible_rows","small_extents","boxes"],)"
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
      ir::Kernel kernel = kernelOf(text);
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

TEST_CASE("what a block does not have without asking is one array that the launch gives it") {
  for (const char *name : {"sm_80", "sm_90a", "sm_120a"}) {
    CAPTURE(name);
    const machine::Machine *machine = machine::findMachine(name);
    if (!target::findGpuTarget(*machine)) continue;
    for (const int slots : {2, 4}) {
      CAPTURE(slots);
      ir::Kernel kernel = kernelOf(streamOf(slots));
      Diagnostics diagnostics;
      const analysis::Assumptions usual = analysis::usualAssumptions(kernel);
      const auto code = compileForGpu(kernel, target::gpuTarget(*machine), usual, diagnostics);
      REQUIRE_MESSAGE(code, diagnostics.render());
      const lower::KernelInterface &interface = code->interface;
      CHECK(interface.sharedMemoryBytes >= slots * 16384);
      const bool asks = interface.sharedMemoryBytes > machine->staticSharedMemoryBytes;
      CHECK(asks == (slots == 4));
      CHECK(interface.bytesAtLaunch == (asks ? interface.sharedMemoryBytes : 0));
      for (const llvm::GlobalVariable &array : code->module->globals()) {
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
      CHECK(report->occupancy.blocksPerCore ==
            machine::occupancyOf(*machine, {.threads = interface.threads,
                                            .registersPerThread = report->resources.registers,
                                            .sharedMemoryBytes = interface.sharedMemoryBytes})
                .blocksPerCore);
      CHECK((toText(*report).find(", which the launch must ask for\n") != std::string::npos) ==
            asks);
    }
  }
}

TEST_CASE("a report says as JSON which boxes an engine loads") {
  const machine::Machine *machine = machine::findMachine("sm_90a");
  if (!target::findGpuTarget(*machine)) return;
  ir::Kernel kernel = kernelOf(streamOf(3));
  Diagnostics diagnostics;
  const analysis::Assumptions usual = analysis::usualAssumptions(kernel);
  const auto code = compileForGpu(kernel, target::gpuTarget(*machine), usual, diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  const auto report = reportOf(*code, target::gpuTarget(*machine));
  REQUIRE(report);
  CHECK(toJson(*report).find(R"({"box":[64,32],"bytes":128,"element_bytes":4,"kind":"box_map",)"
                             R"("parameter":"a","swizzle_bytes":128}])") != std::string::npos);
}

TEST_CASE("a ring that no launch can have is reported at its line, with the bytes") {
  const auto ringOf = [](int slots, bool isWide) {
    const std::string elements = isWide ? "256" : "128", lane = isWide ? ",[128]" : "";
    return kernelOf(
        "kernel @k(%p: ptr<const f32>) stage laid lanes " + std::string(isWide ? "64" : "32") +
        " warps 1 {\nlayout #0 = register [[1],[2]] lane [[4],[8],[16],[32],[64]" + lane +
        "] warp [] of [" + elements + "]\n%r = ring.new [slots = " + std::to_string(slots) +
        "] : ring<f32[" + elements + "]> #0\n}\n");
  };
  for (const machine::Machine *machine : oneOfEachFamily()) {
    CAPTURE(machine->name);
    const bool isWide = machine->warpSize == 64;
    const std::int32_t slotBytes = isWide ? 1024 : 512;
    const std::int32_t most = machine->sharedMemoryBytes / slotBytes;
    CHECK_FALSE(errorOf(ringOf(most, isWide), *machine));
    for (const std::int32_t slots : {most + 1, 65'536}) {
      const auto error = errorOf(ringOf(slots, isWide), *machine);
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
  const ir::Kernel source = kernelOf(R"(
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
    REQUIRE(laid.stage() == ir::Stage::Laid);
    const ir::Kernel read = kernelOf(ir::print(laid));
    for (const machine::Machine &other : machine::allMachines()) {
      if (!target::findGpuTarget(other)) continue;
      CAPTURE(other.name);
      const auto error = errorOf(read.clone(), other);
      CHECK(error.has_value() == (other.warpSize != machine->warpSize));
      if (error) CHECK(error->kind == Diag::ForeignLayouts);
    }
  }
}

TEST_CASE("an engine loads no boxes of a view that a pointer of several may write") {
  const machine::Machine &machine = *machine::findMachine("sm_90a");
  if (target::findGpuTarget(machine) == nullptr) return;
  const auto errorWhere = [&](const std::string &pointer) -> std::optional<Diag> {
    ir::Kernel kernel = kernelOf(R"(
kernel @k(%v: view<f32, 2>, %y: ptr<f32>, %z: ptr<f32>, %n: i32, %b: bool)
    stage laid lanes 32 warps 1 {
  layout #0 = register [[0,1],[0,2],[0,4]] lane [[1,0],[2,0],[4,0],[0,8],[0,16]] warp [] of [8x32]
  %full = barrier.new : barrier
  %r = ring.new [boxes = true] : ring<f32[8x32]> #0
  %0 = constant 0 : i32
  barrier.expect %full [bytes = 1024]
  ring.load_box %r, %full, %v, %0, %0
  barrier.wait %full
  %x = ring.read %r : f32[8x32] #0
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

TEST_CASE("a condition that counts no whole trips cannot be read") {
  const auto isRead = [](int bound) {
    const ir::Kernel kernel = kernelOf(R"(
kernel @k(%p: ptr<const f32>, %n: i32) stage laid lanes 32 warps 1 {
  layout #0 = register [[1],[2]] lane [[4],[8],[16],[32],[64]] warp [] of [128]
  %r = ring.new [slots = 2] : ring<f32[128]> #0
  %i = arange : i32[128] #0
  %p0 = broadcast %p : ptr<const f32>[128] #0
  %at = ptr.add %p0, %i : ptr<const f32>[128] #0
  %zero = constant 0 : i32
  %two = constant 2 : i32
  for %zero, %n, %two (%k: i32) {
    %d = sub %n, %k : i32
    %u = bitcast %d : u32
    %least = constant )" + std::to_string(bound) +
                                       R"( : u32
    %more = gt %u, %least : bool
    ring.copy %r, %more, %at [width = 4]
    ring.commit
    yield
  }
}
)");
    Diagnostics diagnostics;
    passes::pipeline::checkRings(kernel, diagnostics);
    return llvm::none_of(diagnostics.all(),
                         [](const Diagnostic &one) { return one.kind == Diag::PipelineUnread; });
  };
  for (const int bound : {0, 2, 4}) CHECK(isRead(bound));
  for (const int bound : {1, 3, 5}) CHECK_FALSE(isRead(bound));
}

} // namespace
} // namespace imbrex
