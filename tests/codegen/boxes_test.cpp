#include "backend/assembly.h"
#include "backend/compile.h"
#include "backend/emulate/emulate.h"
#include "backend/lower/lower.h"
#include "backend/passes/pipeline/prove_rings.h"
#include "backend/pipeline.h"
#include "tests/codegen/pipelined_kernels.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/assembler.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <set>

/// Loops whose tiles the engine of a machine loads: by a role of its own, or by one of the threads
/// that compute.
using namespace imbrex;
using namespace imbrex::testing;

namespace {

const machine::Machine &hopper() { return *machine::findMachine("sm_90a"); }

ir::Kernel pipelined(const TableKernel &of, const analysis::Assumptions &assumptions,
                     std::string *explanation = nullptr) {
  ir::Kernel kernel = of.kernel.clone();
  Diagnostics diagnostics;
  passes::PassContext context(diagnostics, hopper(), assumptions);
  context.explanation = explanation;
  REQUIRE_MESSAGE(runPasses(kernel, gpuPipeline(), context), diagnostics.render());
  return kernel;
}

ir::Kernel pipelined(const TableKernel &of, std::string *explanation = nullptr) {
  return pipelined(of, analysis::usualAssumptions(of.kernel), explanation);
}

bool isSafe(const ir::Kernel &kernel) {
  Diagnostics diagnostics;
  return passes::pipeline::proveRings(kernel, hopper(), diagnostics).has_value();
}

/// What orders the loads of boxes.
std::vector<ir::Op *> waitsOf(ir::Kernel &kernel) {
  std::vector<ir::Op *> found;
  ir::walk(kernel.body(), [&](ir::Op &op) {
    const bool isWait = op.kind == ir::OpKind::Meet || op.kind == ir::OpKind::RingDrain ||
                        op.kind == ir::OpKind::BarrierWait ||
                        op.kind == ir::OpKind::BarrierArrive ||
                        op.kind == ir::OpKind::BarrierExpect;
    if (isWait) found.push_back(&op);
  });
  return found;
}

void erase(ir::Block &block, const ir::Op *op) {
  llvm::erase_if(block.ops, [&](const auto &one) { return one.get() == op; });
  for (const auto &one : block.ops)
    for (ir::Block &region : one->regions) erase(region, op);
}

ir::Kernel without(const ir::Kernel &kernel, std::size_t wait) {
  ir::Kernel copy = kernel.clone();
  const ir::Op *op = waitsOf(copy)[wait];
  erase(copy.body(), op);
  return copy;
}

bool hasRoles(const ir::Kernel &kernel) {
  return kernel.body().ops.back()->kind == ir::OpKind::Roles;
}

/// One of each sort, with trips around its slots.
std::vector<TableKernel> chosen() {
  std::vector<TableKernel> kernels;
  for (const int slots : {2, 3})
    for (TableKernel &one : pipelinedKernels(slots)) {
      const std::string of = "_" + std::to_string(slots);
      if (one.name == "product" + of + "_" + std::to_string(16 * (slots + 1)) ||
          one.name == "attention" + of + "_" + std::to_string(16 * (slots + 1)) + "_40" ||
          one.name == "rows" + of + "_" + std::to_string(64 * (slots + 1) + 20))
        kernels.push_back(std::move(one));
    }
  return kernels;
}

/// Run the code of a kernel as it stands, proven or not; what the emulator finds.
std::string emulated(const ir::Kernel &kernel, const TableKernel &of, TableLaunch &launch,
                     emulate::Delivery delivery) {
  Diagnostics diagnostics;
  const target::GpuTarget &target = *gpuTargetOf(hopper(), diagnostics);
  llvm::LLVMContext context;
  auto lowered =
      lower::lowerKernel(kernel, target.vocabulary(), analysis::usualAssumptions(of.kernel), [&] {
        auto module = std::make_unique<llvm::Module>("k", context);
        target.prepare(*module);
        return module;
      });
  REQUIRE(lowered);
  target.optimise(*lowered->module);
  const auto program = emulate::EmulatedProgram::compile(*lowered->module, hopper(),
                                                         lowered->interface, diagnostics);
  REQUIRE_MESSAGE(program, diagnostics.render());
  emulate::EmulatorOptions options;
  options.delivery = delivery;
  program->run(of.grid, launch.arguments(), options, diagnostics);
  return diagnostics.render();
}

} // namespace

TEST_CASE("boxes are loaded by a role of its own, unless the kernel may end early") {
  for (const TableKernel &one : chosen()) {
    CAPTURE(one.name);
    std::string explanation;
    const ir::Kernel kernel = pipelined(one, &explanation);
    const bool mayEnd = one.name.starts_with("rows");
    CHECK(hasRoles(kernel) == !mayEnd);
    CHECK(explanation.find(mayEnd ? "by the threads that compute, for the kernel may end early\n"
                                  : "by a role of its own\n") != std::string::npos);
    CHECK(explanation.find("that the engine loads, swizzled in") != std::string::npos);
  }
}

TEST_CASE("no wait, arrival, expectation or meeting could be spared, says the proof") {
  for (const TableKernel &one : chosen()) {
    CAPTURE(one.name);
    ir::Kernel kernel = pipelined(one);
    REQUIRE(isSafe(kernel));
    const std::size_t count = waitsOf(kernel).size();
    CHECK(count >= 4);
    for (std::size_t i = 0; i < count; ++i) {
      CAPTURE(i);
      CHECK_FALSE(isSafe(without(kernel, i)));
    }
  }
}

TEST_CASE("nor says the emulator") {
  if (target::findGpuTarget(hopper()) == nullptr) {
    MESSAGE("SKIP: no code for sm_90a in this build");
    return;
  }
  for (const TableKernel &one : chosen()) {
    CAPTURE(one.name);
    ir::Kernel kernel = pipelined(one);
    TableLaunch whole(one);
    REQUIRE(emulated(kernel, one, whole, emulate::Delivery::Late) == "");
    for (std::size_t i = 0; i < waitsOf(kernel).size(); ++i) {
      CAPTURE(i);
      CAPTURE(info(waitsOf(kernel)[i]->kind).mnemonic);
      TableLaunch launch(one);
      CHECK(emulated(without(kernel, i), one, launch, emulate::Delivery::Late) != "");
    }
  }
}

TEST_CASE("slots, bytes and arrivals that are wrong are found by the proof") {
  for (const TableKernel &one : chosen()) {
    CAPTURE(one.name);
    const ir::Kernel kernel = pipelined(one);
    const auto isSafeWith = [&](const std::function<void(ir::Op &)> &change) {
      ir::Kernel changed = kernel.clone();
      ir::walk(changed.body(), change);
      return isSafe(changed);
    };
    CHECK(isSafeWith([](ir::Op &) {}));
    CHECK_FALSE(isSafeWith([](ir::Op &op) {
      if (op.kind == ir::OpKind::BarrierExpect) op.attrs<ir::BytesAttrs>().bytes += 16;
    }));
    CHECK_FALSE(isSafeWith([](ir::Op &op) {
      if (op.kind == ir::OpKind::BarrierExpect) op.attrs<ir::BytesAttrs>().bytes -= 16;
    }));
    for (const int change : {-1, 1})
      CHECK_FALSE(isSafeWith([&](ir::Op &op) {
        if (op.kind == ir::OpKind::BarrierNew) op.attrs<ir::BarrierAttrs>().arrivals += change;
      }));
    CHECK_FALSE(isSafeWith([](ir::Op &op) {
      if (op.kind == ir::OpKind::RingNew) --op.attrs<ir::RingAttrs>().slots;
    }));
    if (!hasRoles(kernel)) continue;
    CHECK_FALSE(isSafeWith([](ir::Op &op) {
      if (op.kind == ir::OpKind::BarrierNew) ++op.attrs<ir::BarrierAttrs>().slots;
    }));
    CHECK_FALSE(isSafeWith([](ir::Op &op) {
      if (op.kind == ir::OpKind::BarrierWait) op.attrs<ir::WaitAttrs>().flipped = false;
    }));
  }
}

TEST_CASE("views that the engine does not take are copied by the threads, and it is told why") {
  for (const TableKernel &one : chosen()) {
    CAPTURE(one.name);
    analysis::Assumptions ragged = analysis::usualAssumptions(one.kernel);
    for (analysis::ParameterAssumptions &parameter : ragged.parameters) parameter.hasBoxes = false;
    std::string explanation;
    ir::Kernel kernel = pipelined(one, ragged, &explanation);
    CHECK(passes::pipeline::hasRings(kernel));
    ir::walk(kernel.body(), [](ir::Op &op) { CHECK(op.kind != ir::OpKind::RingLoadBox); });
    CHECK(explanation.find(
              "is not loaded by the engine: its view may have strides or an address that "
              "the engine does not take") != std::string::npos);
  }
}

namespace {

/// A kernel of which one view alone is none of the engine's, for each view that makes the threads
/// copy one of a loop's tiles and leaves another to the engine.
std::vector<ir::Kernel> mixed(const TableKernel &of) {
  std::vector<ir::Kernel> found;
  const analysis::Assumptions usual = analysis::usualAssumptions(of.kernel);
  for (std::size_t i = 0; i < usual.parameters.size(); ++i) {
    analysis::Assumptions ragged = usual;
    ragged.parameters[i].hasBoxes = false;
    std::string explanation;
    ir::Kernel kernel = pipelined(of, ragged, &explanation);
    if (explanation.find("boxes of") != std::string::npos &&
        explanation.find("copies of") != std::string::npos)
      found.push_back(std::move(kernel));
  }
  return found;
}

} // namespace

TEST_CASE("what the engine cannot load of a loop the threads copy, and a trip waits for both") {
  const bool canRun = target::findGpuTarget(hopper()) != nullptr;
  for (const TableKernel &one : chosen()) {
    CAPTURE(one.name);
    const std::vector<ir::Kernel> kernels = mixed(one);
    CHECK(kernels.size() == (one.name.starts_with("rows") ? 0 : 2));
    for (const ir::Kernel &kernel : kernels) {
      REQUIRE(isSafe(kernel));
      ir::Kernel waits = kernel.clone();
      for (std::size_t i = 0; i < waitsOf(waits).size(); ++i) {
        CAPTURE(i);
        CAPTURE(info(waitsOf(waits)[i]->kind).mnemonic);
        CHECK_FALSE(isSafe(without(kernel, i)));
        TableLaunch launch(one);
        if (canRun) CHECK(emulated(without(kernel, i), one, launch, emulate::Delivery::Late) != "");
      }
      if (!canRun) continue;
      TableLaunch launch(one), byBoxes(one);
      REQUIRE(emulated(pipelined(one), one, byBoxes, emulate::Delivery::Late) == "");
      CHECK(emulated(kernel, one, launch, emulate::Delivery::Late) == "");
      CHECK(launch.difference(byBoxes) == "");
    }
  }
}

namespace {

/// Two roles by hand; `more` stands in the one that computes.
std::string byHand(const std::string &more) {
  return R"(
kernel @k(%v: view<f32, 2>, %y: view<f32, 2>, %n: i32, %b: bool) stage scheduled lanes 32 warps 1 {
  layout #0 = register [[0,1],[0,2],[0,4]] lane [[1,0],[2,0],[4,0],[0,8],[0,16]] warp [] of [8x32]
  layout #1 = offset [[0,1],[0,2],[0,4],[0,8],[0,16],[1,4],[2,8],[4,16]] of [8x32]
  %r = ring.new [slots = 2, by = boxes] : ring<f32[8x32]> #0
  %full = barrier.new [slots = 2] : barrier
  %empty = barrier.new [slots = 2] : barrier
  %0 = constant 0 : i32
  %1 = constant 1 : i32
  roles {
    for %0, %n, %1 (%k: i32) {
      barrier.wait %empty [flipped = true]
      barrier.expect %full [bytes = 1024]
      ring.load_box %r, %full, %v, %0, %k
      yield
    }
    yield
  } else {
    for %0, %n, %1 (%k: i32) {
      barrier.wait %full
      %x_at = ring.slot %r : shared<f32[8x32]> #1
      %x = shared.load %x_at : f32[8x32] #0
      barrier.arrive %empty
      view.store %y, %x, %0, %k
)" + more +
         R"(
      yield
    }
    yield
  }
}
)";
}

/// What compiling it says first.
std::string compiled(const std::string &text, const char *machine, bool isUsual = true) {
  ir::Kernel kernel = parsedKernel(text);
  Diagnostics diagnostics;
  const target::GpuTarget *target = gpuTargetOf(*machine::findMachine(machine), diagnostics);
  if (target != nullptr)
    compileForGpu(kernel, *target,
                  isUsual ? analysis::usualAssumptions(kernel) : analysis::Assumptions{},
                  diagnostics);
  return diagnostics.all().empty() ? "" : diagnostics.all()[0].message;
}

std::string replaced(std::string text, const std::string &what, const std::string &by) {
  text.replace(text.find(what), what.size(), by);
  return text;
}

} // namespace

TEST_CASE("who asks for the engine by hand is told where there is none, or it cannot do that") {
  CHECK(compiled(byHand(""), "sm_90a") == "");
  CHECK(compiled(byHand(""), "sm_80") ==
        "'barrier.new' asks for an engine that loads boxes, and sm_80 has none");
  CHECK(compiled(byHand(""), "sm_90a", false) ==
        "'ring.load_box' loads boxes of view 'v', and a launch may pass one that no engine takes");
  CHECK(compiled(byHand("view.store %v, %x, %0, %k"), "sm_90a") ==
        "'ring.load_box' loads boxes of a view that the kernel writes, too");
}

TEST_CASE("roles by hand that hand over what is not there are refused") {
  const auto with = [](const std::string &attributes) {
    return compiled(replaced(byHand(""), "roles {", "roles [" + attributes + "] {"), "sm_90a");
  };
  for (const char *attributes :
       {"warps = 4, releases = 40, takes = 232", "warps = 4, takes = 232, blocks = 1",
        "warps = 4, releases = 40, takes = 7, blocks = 1", "warps = 4, blocks = 1000000"}) {
    CAPTURE(attributes);
    CHECK(with(attributes) != "");
  }
  CHECK(with("warps = 4") == "");
}

TEST_CASE("beside boxes that one role loads the other may copy, and the assembly is held to it") {
  const std::string text = R"(
kernel @k(%v: view<const f32, 2>, %p: ptr<const f32>, %y: view<f32, 2>, %q: ptr<f32>, %n: i32) stage tiles {
  %0 = constant 0 : i32
  %1 = constant 1 : i32
  %zeros = constant 0.0 : f32[8x32]
  %sum = for %0, %n, %1, %zeros [pipelined = 2] (%k: i32, %s: f32[8x32]) {
    %x = view.load %v, %0, %k : f32[8x32]
    %t = add %s, %x : f32[8x32]
    yield %t
  } : f32[8x32]
  view.store %y, %sum, %0, %0
  %none = constant 0.0 : f32[1024]
  %at = arange : i32[1024]
  %width = constant 1024 : i32
  %line = for %0, %n, %1, %none [pipelined = 3] (%k: i32, %s: f32[1024]) {
    %first = mul %k, %width : i32
    %firsts = broadcast %first : i32[1024]
    %places = add %firsts, %at : i32[1024]
    %all = broadcast %p : ptr<const f32>[1024]
    %from = ptr.add %all, %places : ptr<const f32>[1024]
    %x = load %from : f32[1024]
    %t = add %s, %x : f32[1024]
    yield %t
  } : f32[1024]
  %to = broadcast %q : ptr<f32>[1024]
  %outs = ptr.add %to, %at : ptr<f32>[1024]
  store %outs, %line
})";
  ir::Kernel kernel = parsedKernel(text);
  Diagnostics diagnostics;
  const target::GpuTarget *target = gpuTargetOf(hopper(), diagnostics);
  if (target == nullptr) return;
  const auto code = compileForGpu(kernel, *target, analysis::usualAssumptions(kernel), diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  CHECK(hasRoles(kernel));
  const auto assembly = makeAssembly(*code, *target);
  REQUIRE_MESSAGE(assembly, assembly.error().message);
  CHECK(assembly->find("cp.async.bulk.tensor") != std::string::npos);
  CHECK(assembly->find("cp.async.commit_group") != std::string::npos);
}

TEST_CASE(
    "roles that count other trips are found, and those that count alike in other words are not") {
  const std::string text = byHand("");
  CHECK(isSafe(parsedKernel(text)));
  const std::string loads = "for %0, %n, %1 (%k: i32) {\n      barrier.wait %empty";
  CHECK_FALSE(isSafe(parsedKernel(replaced(text, loads, replaced(loads, "%0", "%1")))));
  CHECK_FALSE(isSafe(parsedKernel(replaced(text, loads, replaced(loads, "%n", "%1")))));
  CHECK(isSafe(parsedKernel(
      replaced(text, loads, "%zero = constant 0 : i32\n" + replaced(loads, "%0", "%zero")))));
  CHECK_FALSE(isSafe(parsedKernel(
      replaced(text, loads, "%zero = constant 2 : i32\n" + replaced(loads, "%0", "%zero")))));
  const auto withBounds = [&](const std::string &first, const std::string &second) {
    const std::string computes = "for %0, %n, %1 (%k: i32) {\n      barrier.wait %full";
    const std::string both =
        replaced(text, loads, "%f = " + first + " : i32\n" + replaced(loads, "%n", "%f"));
    return parsedKernel(
        replaced(both, computes, "%s = " + second + " : i32\n" + replaced(computes, "%n", "%s")));
  };
  CHECK(isSafe(withBounds("add %n, %1", "add %n, %1")));
  CHECK_FALSE(isSafe(withBounds("add %n, %1", "add %n, %0")));
  CHECK_FALSE(isSafe(withBounds("add %n, %1", "sub %n, %1")));
  // A way out of one role that the other does not know of.
  CHECK_FALSE(isSafe(parsedKernel(byHand("exit_if %b"))));
  CHECK_FALSE(isSafe(parsedKernel(byHand("break_if %b"))));
}

TEST_CASE("what two roles do under a condition they do under the same") {
  const std::string text = byHand("");
  const auto under = [&](const std::string &first, const std::string &second) {
    std::string guarded = replaced(text, "for %0, %n", "if " + first + " {\nfor %0, %n");
    guarded = replaced(guarded, "      yield\n    }\n    yield",
                       "      yield\n    }\nyield\n}\n    yield");
    const std::size_t other = guarded.find("} else {\n    for");
    std::string tail = guarded.substr(other);
    tail = replaced(tail, "for %0, %n", "if " + second + " {\nfor %0, %n");
    tail =
        replaced(tail, "      yield\n    }\n    yield", "      yield\n    }\nyield\n}\n    yield");
    return "" + guarded.substr(0, other) + tail;
  };
  CHECK(isSafe(parsedKernel(under("%b", "%b"))));
  const std::string other = replaced(under("%b", "%c"), "  %0 = constant 0 : i32",
                                     "  %c = not %b : bool\n  %0 = constant 0 : i32");
  CHECK_FALSE(isSafe(parsedKernel(other)));
}

namespace {

/// A product by multiply-adds, whose sums fill 64 registers of a thread.
TableKernel largeProduct() {
  return {.name = "large",
          .kernel = parsedKernel(R"(
kernel @large(%a: view<const f32, 2>, %b: view<const f32, 2>, %c: view<f32, 2>) stage tiles {
  %0 = constant 0 : i64
  %1 = constant 1 : i64
  %2 = view.extent %a [axis = 1] : i64
  %16 = constant 16 : i64
  %4 = cdiv %2, %16 : i64
  %5 = constant 0.0 : f32[128x128]
  %6 = for %0, %4, %1, %5 [pipelined = 3] (%k: i64, %sum: f32[128x128]) {
    %x = view.load %a, %0, %k : f32[128x16]
    %y = view.load %b, %k, %0 : f32[16x128]
    %next = dot %x, %y, %sum : f32[128x128]
    yield %next
  } : f32[128x128]
  view.store %c, %6, %0, %0
}
)"),
          .grid = {.extents = {1, 1, 1}},
          .arguments = {"random:128x72", "random:72x128", "zeros:128x128"}};
}

} // namespace

TEST_CASE("the role that loads leaves its registers to one that wants many" *
          doctest::test_suite("toolkit")) {
  const TableKernel one = largeProduct();
  ir::Kernel kernel = pipelined(one);
  REQUIRE(hasRoles(kernel));
  const auto &roles = kernel.body().ops.back()->attrs<ir::RolesAttrs>();
  CHECK(roles.warps == 4);
  CHECK(roles.blocks == 1);
  CHECK(roles.releases < 168); // what 384 threads are given
  CHECK(roles.takes > 168);
  CHECK(roles.releases * 128 + roles.takes * 256 <= 65536);
  CHECK(isSafe(kernel));
  Diagnostics diagnostics;
  const target::GpuTarget *target = gpuTargetOf(hopper(), diagnostics);
  if (target == nullptr) {
    MESSAGE("SKIP: no code for sm_90a in this build");
    return;
  }
  TableLaunch meant(one), got(one);
  REQUIRE(run(*executableOn("interpreter", one), one, meant) == "");
  CHECK(emulated(kernel, one, got, emulate::Delivery::Late) == "");
  CHECK(got.difference(meant) == "");
  ir::Kernel traced = one.kernel.clone();
  const auto code =
      compileForGpu(traced, *target, analysis::usualAssumptions(one.kernel), diagnostics);
  REQUIRE(code);
  CHECK(code->interface.threads == 384);
  std::set<std::uint64_t> alignments;
  for (const llvm::GlobalVariable &memory : code->module->globals())
    if (memory.getName().starts_with("ring"))
      alignments.insert(memory.getAlign().valueOrOne().value());
  CHECK(alignments == std::set<std::uint64_t>{512, 1024}); // rows of 64 and of 512 bytes
  // Were there fewer at the launch, those that compute would wait for ever for what they take.
  if (testing::canAssemble(*target)) {
    const auto object = target->objectOf(target->assembly(*code->copy()).value());
    REQUIRE(object);
    CHECK(target->resources(*object).registers == 168);
  }
  const std::string assembly = target->assembly(*code->copy()).value();
  const std::string words[]{"setmaxnreg.dec.sync.aligned.u32 \t" + std::to_string(roles.releases),
                            "setmaxnreg.inc.sync.aligned.u32 \t" + std::to_string(roles.takes),
                            ".maxnreg 168"};
  for (const std::string &wanted : words)
    CHECK_MESSAGE(assembly.find(wanted) != std::string::npos, wanted);
}
