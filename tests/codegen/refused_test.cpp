// What no launch or assembler takes is refused at its line, and what is taken fits a thread.

#include "backend/spills.h"
#include "tests/support/assembler.h"
#include "tests/support/compile_error.h"
#include "tests/support/made_object.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <tuple>

namespace imbrex {
namespace {

using testing::compileError;
using testing::parsedKernel;

/// An empty kernel with so many parameters of 8 bytes between others.
ir::Kernel kernelOfWords(const std::string &before, int words, const std::string &after) {
  std::string parameters = before;
  for (int i = 0; i < words; ++i)
    parameters += (parameters.empty() ? "%w" : ", %w") + std::to_string(i) + ": i64";
  return parsedKernel("\nkernel @k(" + parameters + after + ") stage tiles {\n}");
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
    const auto error =
        compileError(kernelOfWords("", limit.words, limit.after + ", %e: i8"), machine);
    REQUIRE(error);
    CHECK(render(*error) == "k.imx:2: error: the parameters of kernel 'k' take " +
                                std::to_string(limit.bytes + 1) + " bytes; a launch on " +
                                std::string(limit.machine) + " passes " +
                                std::to_string(limit.bytes) +
                                "\n  hint: put numbers into memory and pass a pointer to them; a "
                                "view takes 8 bytes and 16 for each axis\n");
    const bool isQuick = limit.bytes < 100000;
    if (isQuick) CHECK_FALSE(compileError(kernelOfWords("", limit.words, limit.after), machine));
    // What stands between them for alignment counts, too.
    CHECK_FALSE(compileError(kernelOfWords("%e: i8", 542, ""), machine));
    CHECK(compileError(kernelOfWords("%e: i8", limit.words, ""), machine).has_value() ==
          (8 + 8 * limit.words > limit.bytes));
  }
}

TEST_CASE("the longest parameters that are taken have code" * doctest::test_suite("toolkit")) {
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
    CHECK(makeAssembly(*code, *target).ok());
    if (!testing::canAssemble(*target)) continue;
    const auto object = makeObject(*code, *target);
    CHECK_MESSAGE(object.ok(), render(object.error()));
  }
}

/// A loop, and many ifs, on a line each.
ir::Kernel kernelOfBodies(int count) {
  std::string text = "kernel @k(%y: ptr<i32>, %c: bool) stage tiles {\n"
                     "  %0 = constant 0 : i32  %1 = constant 1 : i32  %2 = constant 9 : i32\n";
  for (int i = 0; i < count; ++i)
    text += i % 100 != 0
                ? "  if %c { store %y, %0  yield }\n"
                : "  for %0, %2, %1 (%i" + std::to_string(i) + ": i32) { store %y, %2  yield }\n";
  return parsedKernel(text + "}");
}

TEST_CASE("a kernel of more loops and ifs than LLVM takes in seconds is refused") {
  for (const std::string_view name : {"sm_90a", "gfx942"}) {
    CAPTURE(name);
    const machine::Machine &machine = *machine::findMachine(name);
    if (!target::findGpuTarget(machine)) continue;
    const auto error = compileError(kernelOfBodies(1025), machine);
    REQUIRE(error);
    CHECK(render(*error) == "k.imx:1027: error: kernel 'k' has 1025 loops and ifs; code for " +
                                std::string(name) +
                                " is made of 1024 at most\n  hint: write those that are alike as "
                                "one loop over what differs between them\n");
    CHECK_FALSE(compileError(kernelOfBodies(1024), machine));
  }
}

TEST_CASE("a function that may have to branch keeps to the registers of a thread on large tiles" *
          doctest::test_suite("toolkit")) {
  // 32 elements a thread, of which each function takes a few registers at a time.
  for (const char *name : {"sm_90a", "gfx942"})
    for (const std::string function : {"sin %x", "tan %x", "rem %x, %z"}) {
      CAPTURE(name);
      CAPTURE(function);
      const target::GpuTarget *target = target::findGpuTarget(*machine::findMachine(name));
      if (!target) continue;
      ir::Kernel kernel = parsedKernel(
          "kernel @k(%p: view<const f32, 1>, %q: view<f32, 1>) stage tiles {\n%i = program_id : "
          "i32\n%x = view.load %p, %i : f32[8192]\n%z = view.load %q, %i : f32[8192]\n%y = " +
          function + " : f32[8192]\nview.store %q, %y, %i\n}");
      Diagnostics diagnostics;
      const analysis::Assumptions usual = analysis::usualAssumptions(kernel);
      const auto code = compileForGpu(kernel, *target, usual, diagnostics);
      REQUIRE_MESSAGE(code, diagnostics.render());
      if (!testing::canAssemble(*target)) continue;
      const auto object = makeObject(*code, *target);
      REQUIRE_MESSAGE(object.ok(), render(object.error()));
      const target::Resources resources = target->resources(*object);
      CHECK(resources.stackBytes == 0);
      CHECK(resources.registers <= 224);
    }
}

/// A product of slabs that lie in shared memory, whose threads want some 80 registers.
ir::Kernel productOfThreads(const std::string &asked) {
  return parsedKernel(
      "kernel @product(%a: view<const f32, 2>, %b: view<const f32, 2>, %c: view<f32, 2>) "
      "stage tiles [" +
      asked +
      "] {\n  %0 = constant 0 : f32[64x64]  %z = constant 0 : i32\n"
      "  %1 = constant 1 : i32  %t = constant 9 : i32\n"
      "  %s = for %z, %t, %1, %0 (%i: i32, %d: f32[64x64]) {\n"
      "    %x = view.load %a, %z, %i : f32[64x32]\n    %y = view.load %b, %i, %z : f32[32x64]\n"
      "    %r = dot %x, %y, %d : f32[64x64]\n    yield %r\n  } : f32[64x64]\n  view.store %c, %s, "
      "%z, %z\n}");
}

TEST_CASE("code has no more registers than are asked for, also beside shared memory" *
          doctest::test_suite("toolkit")) {
  for (const char *name : {"sm_90a", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"})
    for (const int most : {32, 48, 64}) {
      CAPTURE(name);
      const target::GpuTarget *target = target::findGpuTarget(*machine::findMachine(name));
      if (!target || !testing::canAssemble(*target)) continue;
      ir::Kernel kernel = productOfThreads("registers = " + std::to_string(most));
      Diagnostics diagnostics;
      const auto code = compileForGpu(kernel, *target, {}, diagnostics);
      REQUIRE_MESSAGE(code, diagnostics.render());
      CHECK(code->interface.sharedMemoryBytes > 0);
      const auto object = makeObject(*code, *target);
      REQUIRE_MESSAGE(object.ok(), render(object.error()));
      CHECK(target->resources(*object).registers <= most);
      CHECK(target->resources(*object).registers > most - 16);
    }
}

TEST_CASE("too few registers for a single instruction are an error with a way out") {
  const machine::Machine &machine = *machine::findMachine("gfx942");
  const target::GpuTarget *target = target::findGpuTarget(machine);
  if (!target) return;
  ir::Kernel kernel = productOfThreads("warps = 4, registers = 16");
  Diagnostics diagnostics;
  const auto code = compileForGpu(kernel, *target, {}, diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  const auto text = makeAssembly(*code, *target);
  REQUIRE(!text);
  CHECK(render(text.error()) ==
        "k.imx:1: error: kernel 'product' needs more registers at once than its threads may have "
        "on gfx942\n  hint: ask for more than 16 registers: there are 512\n");
  // More warps need fewer.
  ir::Kernel fitted = productOfThreads("registers = 16");
  const auto other = compileForGpu(fitted, *target, {}, diagnostics);
  REQUIRE_MESSAGE(other, diagnostics.render());
  CHECK(makeAssembly(*other, *target));
  REQUIRE(other->spilling);
  CHECK(whyOthers(*other->spilling) == "4 warps would run out of registers");
}

TEST_CASE("what spills is helped by registers that the assembler left, if there are any") {
  const machine::Machine &machine = *machine::findMachine("sm_90a");
  GpuCode code;
  lower::KernelInterface &interface = code.interface;
  interface.threads = 128;
  CHECK(
      moreRegisters(code, machine, 64) ==
      "ask for 255, by `registers`: the assembler stopped at 64, for more blocks on a core; or let "
      "blocks have more warps than 4, by `warps`");
  const std::string more =
      "let blocks have more warps than 4, by `warps`, or make the tiles smaller "
      "and loop over the rest";
  CHECK(moreRegisters(code, machine, 255) == more);
  CHECK(moreRegisters(code, machine) == more);
  interface.threads = 160; // a warp loads for four
  CHECK(moreRegisters(code, machine, 64) == more);
  interface.threads = 128;
  interface.asked.registers = 64;
  CHECK(moreRegisters(code, machine, 64) == "ask for more than 64 registers: there are 255");
}

TEST_CASE("more warps help what spills where the compiler has not tried them") {
  const machine::Machine &machine = *machine::findMachine("gfx1201");
  GpuCode code;
  code.interface.threads = 128;
  CHECK(
      moreRegisters(code, machine) ==
      "let blocks have more warps than 4, by `warps`, or make the tiles smaller and loop over the "
      "rest");
  code.triedOthers = true;
  CHECK(moreRegisters(code, machine) == "make the tiles smaller, and loop over the rest");
  code.triedOthers = false;
  code.interface.asked.warps = 4;
  CHECK(moreRegisters(code, machine) ==
        "ask for more than 4 warps, or make the tiles smaller and loop over the rest");
}

/// What making an image says.
std::string refusalOf(ir::Kernel kernel, const machine::Machine &machine) {
  Diagnostics diagnostics;
  const target::GpuTarget &target = target::gpuTarget(machine);
  const auto code = compileForGpu(kernel, target, {}, diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  const auto object = makeObject(*code, target);
  return object ? "" : render(object.error());
}

TEST_CASE("instructions that the assembler refuses are reported at their line, in its words" *
          doctest::test_suite("toolkit")) {
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
      {"gfx942", "v_mov_b32 $0, $1\\n.if 0", "=v,v", "LLVM says \"unmatched .ifs or .elses\""},
      {"gfx942", "v_mov_b32 $0, $1 /*", "=v,v", "\" to 'v_mov_b32 "},
      {"gfx942", "v_mov_b32 $0, $1\\ns_branch away", "=v,v",
       "LLVM says \"undefined label 'away'\" to 's_branch away'"},
      {"gfx1100", "v_mov_b32 $0, $1", "=v,a",
       "LLVM says \"couldn't allocate input reg for constraint 'a'\"\n"}};
  for (const Wrong &one : wrong) {
    CAPTURE(one.machine);
    CAPTURE(one.text);
    const machine::Machine &machine = *machine::findMachine(one.machine);
    const target::GpuTarget *target = target::findGpuTarget(machine);
    if (!target || !testing::canAssemble(*target)) continue;
    const bool isPtx = machine.family == machine::Family::Nvptx;
    const auto assembly = [&](const std::string &text, const std::string &constraints) {
      return " [text = \"" + text + "\", constraints = \"" + constraints + "\", target = \"" +
             std::string(machine.name) + "\"] : i32[256]\n";
    };
    const std::string right = isPtx ? "mov.b32 $0, $1;" : "v_mov_b32 $0, $1";
    const std::string said = refusalOf(
        parsedKernel("kernel @k(%p: view<i32, 1>) stage tiles {\n%z = constant 0 : i32\n"
                     "%x = view.load %p, %z : i32[256]\n%a = inline_asm %x" +
                     assembly(right, isPtx ? "=r,r" : "=v,v") + "%b = inline_asm %a" +
                     assembly(one.text, one.constraints) + "%c = inline_asm %b" +
                     assembly(right, isPtx ? "=r,r" : "=v,v") + "view.store %p, %c, %z\n}"),
        machine);
    CHECK_MESSAGE(said.starts_with("k.imx:5: error: the instructions of inline_asm do not "
                                   "assemble: "),
                  said);
    CHECK_MESSAGE(said.find(one.said) != std::string::npos, said);
    CHECK_MESSAGE(said.find("hint: ") != std::string::npos, said);
  }
}

} // namespace
} // namespace imbrex
