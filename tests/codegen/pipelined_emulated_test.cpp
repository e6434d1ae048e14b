#include "backend/ir/text.h"
#include "backend/target/gpu_target.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "tests/codegen/compiled_table.h"
#include "tests/codegen/pipelined_kernels.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

TableKernel withoutMarks(const TableKernel &of) {
  TableKernel plain{
      .name = of.name, .kernel = of.kernel.clone(), .grid = of.grid, .arguments = of.arguments};
  ir::walk(plain.kernel.body(), [](ir::Op &op) {
    if (op.kind == ir::OpKind::For) op.attrs<ir::ForAttrs>().pipelined = 0;
  });
  return plain;
}

/// What was compiled for a device, once for all launches of a kernel.
class Executables {
public:
  explicit Executables(std::string device) : device_(std::move(device)) {}

  const runtime::Executable &of(const TableKernel &one) {
    std::string text = ir::print(one.kernel);
    text.erase(0, text.find('(')); // its name is the launch's
    auto &executable = known_[text];
    if (!executable) executable = executableOn(device_, one);
    return *executable;
  }

private:
  std::string device_;
  std::map<std::string, std::shared_ptr<const runtime::Executable>> known_;
};

/// Late, and in random orders.
void checkDeliveries(Executables &executables, const TableKernel &one, std::uint64_t orders) {
  CAPTURE(one.name);
  TableLaunch meant(one), plain(one);
  REQUIRE(run(*executableOn("interpreter", one), one, meant) == "");
  const TableKernel unmarked = withoutMarks(one);
  REQUIRE(run(executables.of(unmarked), unmarked, plain) == "");
  // Sums of products may be rounded otherwise than the interpreter does it.
  REQUIRE(plain.difference(meant) == "");
  for (std::uint64_t seed = 0; seed <= orders; ++seed) {
    CAPTURE(seed);
    TableLaunch got(one);
    const auto delivery = seed == 0 ? emulate::Delivery::Late : emulate::Delivery::Random;
    REQUIRE(run(executables.of(one), one, got,
                {.emulated = {.seed = seed, .delivery = delivery}}) == "");
    REQUIRE(got == plain);
  }
}

void checkEmulated(const std::string &target) {
  const machine::Machine *machine = machine::findMachine(target);
  REQUIRE(machine != nullptr);
  if (target::findGpuTarget(*machine) == nullptr) {
    MESSAGE("SKIP: no code for ", target, " in this build");
    return;
  }
  Executables executables("emulated:" + target);
  for (const int slots : kPipelineSlots)
    for (const TableKernel &one : pipelinedKernels(slots)) checkDeliveries(executables, one, 20);
  for (const TableKernel &one : largeProducts()) checkDeliveries(executables, one, 3);
  for (const int slots : {2, 3})
    for (const TableKernel &one : longTrips(slots)) checkDeliveries(executables, one, 1);
  for (const int slots : {2, 3})
    for (const TableKernel &one : loopsInRow(slots)) checkDeliveries(executables, one, 2);
  for (const TableKernel &one : oddProducts()) checkDeliveries(executables, one, 3);
  for (const TableKernel &one : mixedLoads()) checkDeliveries(executables, one, 3);
  for (const TableKernel &one : hintedLoads()) checkDeliveries(executables, one, 3);
}

std::size_t arraysReadByBuffers(const GpuCode &code) {
  std::set<const llvm::Value *> arrays;
  for (const llvm::Function &function : *code.module)
    for (const llvm::Instruction &instruction : llvm::instructions(function))
      if (const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == llvm::Intrinsic::amdgcn_make_buffer_rsrc)
        arrays.insert(call->getArgOperand(0));
  return arrays.size();
}

} // namespace

// A case for each, so that they can run side by side (CMakeLists.txt).
TEST_CASE("pipelined loops compute on an emulated sm_80 what the interpreter does") {
  checkEmulated("sm_80");
}
TEST_CASE("pipelined loops compute on an emulated sm_90a what the interpreter does") {
  checkEmulated("sm_90a");
}
TEST_CASE("pipelined loops compute on an emulated sm_120a what the interpreter does") {
  checkEmulated("sm_120a");
}
TEST_CASE("pipelined loops compute on an emulated gfx942 what the interpreter does") {
  checkEmulated("gfx942");
}
TEST_CASE("pipelined loops compute on an emulated gfx950 what the interpreter does") {
  checkEmulated("gfx950");
}

TEST_CASE("long trips compute on an emulated gfx1250 what the interpreter does") {
  if (target::findGpuTarget(*machine::findMachine("gfx1250")) == nullptr) return;
  Executables executables("emulated:gfx1250");
  for (const TableKernel &one : longTrips(2)) checkDeliveries(executables, one, 1);
}

namespace {

TableKernel fromText(const std::string &text, std::vector<std::string> arguments) {
  return {
      .name = "text", .kernel = parsedKernel(text), .grid = {}, .arguments = std::move(arguments)};
}

/// What is left of a sum of many slots, behind an op that moves its elements.
TableKernel movedSum(const std::string &op, const std::string &shape) {
  return fromText("kernel @k(%a: view<const i32, 2>, %out: view<i32, 2>, %n: i32) stage tiles {\n"
                  "%0 = constant 0 : i32\n%1 = constant 1 : i32\n%z = constant 0 : i32[64x128]\n"
                  "%t = for %0, %n, %1, %z [pipelined = 100] (%k: i32, %x: i32[64x128]) {\n"
                  "%l = view.load %a, %0, %k : i32[64x128]\n%w = add %x, %l : i32[64x128]\n"
                  "yield %w\n} : i32[64x128]\n%p = " +
                      op + " : i32[" + shape + "]\nview.store %out, %p, %0, %0\n}\n",
                  {"random:i32:64x512", "zeros:i32:" + shape, "4"});
}

} // namespace

TEST_CASE("what moves elements has memory for it beside all slots that fit, on an emulated sm_80") {
  const TableKernel kernels[]{
      movedSum("slice %t [offsets = [1, 3], strides = [2, 3]]", "31x40"),
      movedSum("concat %t, %t [axis = 0]", "128x128"),
      movedSum("flip %t [axis = 0]", "64x128"),
  };
  for (const TableKernel &one : kernels)
    for (const char *target : {"sm_80", "sm_90a", "sm_120a"}) {
      CAPTURE(target);
      TableLaunch meant(one), got(one);
      REQUIRE(run(*executableOn("interpreter", one), one, meant) == "");
      REQUIRE(run(*executableOn(std::string("emulated:") + target, one), one, got) == "");
      CHECK(got == meant);
    }
}

TEST_CASE("an assertion that fails in a loop whose loads run ahead is all that is told, on an "
          "emulated sm_80, sm_90a, gfx942 and gfx950") {
  for (const char *slots : {"2", "3", "5"}) {
    const TableKernel one = fromText(
        "kernel @k(%v: view<const i32, 2>, %out: view<i32, 2>, %n: i32, %limit: i32) stage "
        "tiles {\n%0 = constant 0 : i32\n%1 = constant 1 : i32\n"
        "%z = constant 0 : i32[8x32]\n%t = for %0, %n, %1, %z [pipelined = " +
            std::string(slots) +
            "] (%k: i32, %u: i32[8x32]) {\n%ok = lt %k, %limit : bool\n"
            "assert %ok [text = \"k < limit\"]\n%m = view.load %v, %0, %k : i32[8x32]\n"
            "%w = add %u, %m : i32[8x32]\nyield %w\n} : i32[8x32]\n"
            "view.store %out, %t, %0, %0\n}\n",
        {"random:i32:8x512", "zeros:i32:8x32", "12", "7"});
    for (const char *target : {"sm_80", "sm_90a", "gfx942", "gfx950"}) {
      CAPTURE(target);
      TableLaunch launch(one);
      const std::string told =
          run(*executableOn(std::string("emulated:") + target, one), one, launch);
      CHECK_MESSAGE(told.find("k < limit") != std::string::npos, told);
      CHECK_MESSAGE(told.find("error:") == told.rfind("error:"), told);
    }
  }
}

TEST_CASE("an assertion stops the loads of later trips by copies, on an emulated sm_80, and in "
          "registers") {
  // Of 256 elements a trip there are two trips; the third is never to read.
  const TableKernel one =
      fromText("kernel @k(%a: ptr<const i32>, %out: ptr<i32>, %n: i32, %limit: i32) stage tiles {\n"
               "%0 = constant 0 : i32\n%1 = constant 1 : i32\n%z = constant 0 : i32[256]\n"
               "%i = arange : i32[256]\n%b = broadcast %a : ptr<const i32>[256]\n"
               "%p0 = ptr.add %b, %i : ptr<const i32>[256]\n%c256 = constant 256 : i32\n"
               "%t = for %0, %n, %1, %z [pipelined = 3] (%k: i32, %u: i32[256]) {\n"
               "%ok = lt %k, %limit : bool\nassert %ok [text = \"k < limit\"]\n"
               "%far = mul %k, %c256 : i32\n%offset = broadcast %far : i32[256]\n"
               "%p = ptr.add %p0, %offset : ptr<const i32>[256]\n%m = load %p : i32[256]\n"
               "%w = add %u, %m : i32[256]\nyield %w\n} : i32[256]\n"
               "%bo = broadcast %out : ptr<i32>[256]\n%po = ptr.add %bo, %i : ptr<i32>[256]\n"
               "store %po, %t\n}\n",
               {"random:i32:512", "zeros:i32:256", "5", "2"});
  for (const char *target : {"interpreter", "emulated:sm_80", "emulated:gfx942"}) {
    CAPTURE(target);
    TableLaunch launch(one);
    const std::string told = run(*executableOn(target, one), one, launch);
    CHECK_MESSAGE(told.find("k < limit") != std::string::npos, told);
    CHECK_MESSAGE(told.find("reads") == std::string::npos, told);
  }
}

// Copies into LDS are counted and all made: those that no trip wants go behind the slots.
TEST_CASE("what is exchanged where slots were waits for copies that nobody wanted, on gfx950") {
  if (target::findGpuTarget(*machine::findMachine("gfx950")) == nullptr) return;
  const TableKernel one{
      .name = "exchanged",
      .kernel = parsedKernel(
          "kernel @exchanged(%a: view<const f16, 2>, %b: view<const f16, 2>, %c: view<f32, 2>) "
          "stage tiles [warps = 8] {\n%0 = constant 0 : i64\n%1 = constant 1 : i64\n"
          "%e = view.extent %a [axis = 1] : i64\n%u = constant 64 : i64\n%t = cdiv %e, %u : i64\n"
          "%z = constant 0.0 : f32[128x128]\n"
          "%s = for %0, %t, %1, %z [pipelined = 2] (%k: i64, %sum: f32[128x128]) {\n"
          "%x = view.load %a, %0, %k : f16[128x64]\n%y = view.load %b, %k, %0 : f16[64x128]\n"
          "%d = dot %x, %y, %sum : f32[128x128]\nyield %d\n} : f32[128x128]\n"
          "%r = permute %s [order = [1, 0]] : f32[128x128]\n%q = add %s, %r : f32[128x128]\n"
          "view.store %c, %q, %0, %0\n}\n"),
      .grid = {.extents = {1, 1, 1}},
      .arguments = {"random:128x192", "random:192x128", "zeros:128x128"}};
  TableLaunch meant(one), got(one);
  REQUIRE(run(*executableOn("interpreter", one), one, meant) == "");
  REQUIRE(run(*executableOn("emulated:gfx950", one), one, got,
              {.emulated = {.delivery = emulate::Delivery::Late}}) == "");
  CHECK(got.difference(meant) == "");
}

// Trips whose boxes are inside load them by buffers, however they were counted from.
TEST_CASE(
    "boxes that may begin in front of their view are right in trips of whole boxes and others") {
  for (const std::string machine : {"gfx942", "gfx950", "gfx1201", "gfx1250"})
    for (const std::string first : {"-2", "0", "1"}) {
      CAPTURE(machine);
      CAPTURE(first);
      if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
      const TableKernel one{
          .name = "shifted",
          .kernel = parsedKernel(
              "kernel @shifted(%a: view<const f16, 2>, %b: view<const f16, 2>, %c: view<f32, 2>, "
              "%f: i32) stage tiles [warps = 4] {\n%0 = constant 0 : i32\n%1 = constant 1 : i32\n"
              "%t = constant 8 : i32\n%z = constant 0.0 : f32[64x64]\n"
              "%s = for %0, %t, %1, %z [pipelined = 2] (%k: i32, %sum: f32[64x64]) {\n"
              "%i = add %f, %k : i32\n"
              "%x = view.load %a, %0, %k : f16[64x64]\n%y = view.load %b, %i, %0 : f16[64x64]\n"
              "%d = dot %x, %y, %sum : f32[64x64]\nyield %d\n} : f32[64x64]\n"
              "view.store %c, %s, %0, %0\n}\n"),
          .grid = {.extents = {1, 1, 1}},
          .arguments = {"random:64x512", "random:384x64", "zeros:64x64", first}};
      TableLaunch meant(one), got(one);
      REQUIRE(run(*executableOn("interpreter", one), one, meant) == "");
      REQUIRE(run(*executableOn("emulated:" + machine, one), one, got,
                  {.emulated = {.delivery = emulate::Delivery::Late}}) == "");
      CHECK(got.difference(meant) == "");
      ir::Kernel kernel = one.kernel.clone();
      const GpuCode code = codeOf(kernel, *target::findGpuTarget(*machine::findMachine(machine)));
      CHECK(arraysReadByBuffers(code) == 2); // b as well
    }
}

TEST_CASE("threads meet between the trips of a loop behind the rings that exchanges its factors") {
  // The atomics meet behind the rings' last use, and nothing is exchanged in front of the loop.
  const TableKernel one{
      .name = "behind",
      .kernel = parsedKernel(
          "kernel @behind(%p: ptr<f32>, %q: view<const f32, 2>, %a: view<const bf16, 2>, "
          "%b: view<const bf16, 2>, %c: view<f32, 2>) stage tiles [warps = 2] {\n"
          "%0 = constant 0 : i32\n%1 = constant 1 : i32\n%n = constant 3 : i32\n"
          "%one = constant 1.0 : f32[64x16]\n"
          "%x = for %0, %n, %1, %one [pipelined = 4] (%k: i32, %most: f32[64x16]) {\n"
          "%l = view.load %q, %0, %k : f32[64x16]\n%m = add %l, %most : f32[64x16]\n"
          "yield %m\n} : f32[64x16]\n"
          "%e = arange : i32[1024]\n%f = reshape %e : i32[64x16]\n"
          "%g = broadcast %p : ptr<f32>[64x16]\n%h = ptr.add %g, %f : ptr<f32>[64x16]\n"
          "%old = atomic_rmw %h, %x : f32[64x16]\n%z = view.load %c, %0, %0 : f32[64x8]\n"
          "%s = for %0, %n, %1, %z (%i: i32, %sum: f32[64x8]) {\n"
          "%u = view.load %a, %i, %0 : bf16[7x64]\n"
          "%v = permute %u [order = [1, 0]] : bf16[64x7]\n"
          "%w = view.load %b, %0, %0 : bf16[7x8]\n%d = dot %v, %w, %sum : f32[64x8]\n"
          "yield %d\n} : f32[64x8]\nview.store %c, %s, %0, %0\n}\n"),
      .grid = {.extents = {1, 1, 1}},
      .arguments = {"zeros:1024", "ones:64x48", "ones:21x64", "ones:7x8", "ones:64x8"}};
  for (const std::string machine : {"sm_80", "gfx942"}) {
    CAPTURE(machine);
    if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
    TableLaunch meant(one), got(one);
    REQUIRE(run(*executableOn("interpreter", one), one, meant) == "");
    CHECK(run(*executableOn("emulated:" + machine, one), one, got) == "");
    CHECK(got.difference(meant) == "");
  }
}

TEST_CASE("copies of pointers that a trip makes for them alone stand beside copies of boxes") {
  const TableKernel one{
      .name = "pointers",
      .kernel = parsedKernel(
          "kernel @pointers(%a: view<const f32, 3>, %p: ptr<const f32>, %c: view<f32, 3>, %n: i32) "
          "stage tiles {\n%0 = constant 0 : i32\n%1 = constant 1 : i32\n"
          "%z = constant 0.0 : f32[4x8x32]\n"
          "%r = for %0, %n, %1, %z [pipelined = 3] (%k: i32, %s: f32[4x8x32]) {\n"
          "%x = view.load %a, %0, %0, %k : f32[4x8x16]\n"
          "%i = arange : i32[2048]\n%j = reshape %i : i32[4x16x32]\n"
          "%d = constant 2048 : i32\n%o = mul %k, %d : i32\n%b = broadcast %o : i32[4x16x32]\n"
          "%e = add %j, %b : i32[4x16x32]\n%g = broadcast %p : ptr<const f32>[4x16x32]\n"
          "%q = ptr.add %g, %e : ptr<const f32>[4x16x32]\n%y = load %q : f32[4x16x32]\n"
          "%t = dot %x, %y, %s [precision = tf32x3] : f32[4x8x32]\nyield %t\n"
          "} : f32[4x8x32]\nview.store %c, %r, %0, %0, %0\n}\n"),
      .grid = {.extents = {1, 1, 1}},
      .arguments = {"ones:4x8x80", "arange:10240", "zeros:4x8x32", "5"}};
  TableLaunch meant(one), got(one);
  REQUIRE(run(*executableOn("interpreter", one), one, meant) == "");
  CHECK(run(*executableOn("emulated:sm_80", one), one, got) == "");
  CHECK(got.difference(meant) == "");
}
