#include "backend/validate/access_order.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "tests/codegen/compiled_table.h"
#include "tests/support/assembler.h"

/// Kernels that may start before the launch in front of them has ended: they touch no memory before
/// they have waited for it, and then let the next one start.
namespace imbrex::testing {
namespace {

const target::GpuTarget &targetOf(std::string_view machine) {
  return target::gpuTarget(*machine::findMachine(machine));
}

/// In clusters, too.
ir::Kernel programmatic(const ir::Kernel &kernel) {
  ir::Kernel made = kernel.clone();
  ir::KernelAttrs asked = made.attributes();
  asked.programmatic = true;
  asked.cluster = {2, 1, 4};
  made.setAttributes(asked);
  return made;
}

constexpr llvm::StringLiteral kWait = "griddepcontrol.wait;",
                              kStart = "griddepcontrol.launch_dependents;";

Result<std::string> assemblyOf(const ir::Kernel &kernel, const target::GpuTarget &target) {
  ir::Kernel compiled = programmatic(kernel);
  return makeAssembly(codeOf(compiled, target), target);
}

} // namespace

TEST_CASE("what a programmatic launch's kernel does to memory stands behind its wait") {
  const target::GpuTarget &target = targetOf("sm_90a");
  for (const TableKernel &one : kernelTable(target.machine())) {
    CAPTURE(one.name);
    const auto text = assemblyOf(one.kernel, target);
    REQUIRE_MESSAGE(text.ok(), text.error().message);
    const auto before = llvm::StringRef(*text).split(kWait).first;
    CHECK(llvm::StringRef(*text).count(kWait) == 1);
    CHECK(llvm::StringRef(*text).count(kStart) == 1);
    CHECK(text->find(kStart) > text->find(kWait));
    // What LLVM takes for constant it may load at any time.
    CHECK_FALSE(contains(*text, "ld.global.nc"));
    for (const llvm::StringRef line : llvm::split(before, '\n'))
      CHECK_FALSE((line.contains("global") && line.contains('[')));
  }
}

TEST_CASE("a kernel that is no programmatic launch's waits for none") {
  ir::Kernel kernel = kernelTable(*machine::findMachine("sm_90a")).front().kernel.clone();
  const auto text = makeAssembly(codeOf(kernel, targetOf("sm_90a")), targetOf("sm_90a"));
  REQUIRE(text);
  CHECK_FALSE(contains(*text, "griddepcontrol"));
}

TEST_CASE("memory that is touched before the wait is told") {
  const target::GpuTarget &target = targetOf("sm_90a");
  const auto firstIn = [&](const std::string &body) {
    return target.touchedBeforeWait(".visible .entry k()\n{\n" + body + "\n}\n").str();
  };
  const std::string wait = "griddepcontrol.wait;\n";
  for (const char *touches :
       {"ld.global.b32 %r1, [%rd1]", "st.global.v4.b32 [%rd1], {%r1, %r1, %r1, %r1}",
        "@%p1 ld.b32 %r1, [%rd1]", "atom.global.add.u32 %r1, [%rd1], 1", "red.add.u32 [%rd1], 1",
        "cp.async.cg.shared.global [%r1], [%rd1], 16, %r2", "ld.global.nc.b32 %r1, [%rd1]",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%r1], [%rd1, {%r2, %r3}], [%r4]"}) {
    CAPTURE(touches);
    CHECK(firstIn(touches + (";\n" + wait)) == touches);
    CHECK(firstIn(wait + touches + ";") == "");
    CHECK(firstIn(touches + std::string(";")) == touches); // no wait at all
    CHECK(firstIn(touches + (";\n" + std::string(kStart))) == touches);
  }
  for (const char *touchesNothing :
       {"ld.param.b64 %rd1, [k_param_0]", "st.shared.b32 [%r1], %r2",
        "mbarrier.init.shared.b64 [%r1], 1", "cp.async.wait_group 0", "ld.const.b32 %r1, [c]",
        "st.local.b32 [%rd1], %r1", "ld.shared::cta.b32 %r1, [%r2]", "bar.sync 0",
        "mov.b32 %r1, %tid.x"}) {
    CAPTURE(touchesNothing);
    CHECK(firstIn(touchesNothing + (";\n" + wait)) == "");
  }
}

TEST_CASE("code that waits too late is not handed out") {
  const target::GpuTarget &target = targetOf("sm_90a");
  ir::Kernel kernel = programmatic(kernelTable(target.machine()).front().kernel);
  const GpuCode code = codeOf(kernel, target);
  REQUIRE(makeAssembly(code, target));
  const auto isWait = [](const llvm::Instruction &one) {
    const auto *call = llvm::dyn_cast<llvm::CallInst>(&one);
    return call && call->getIntrinsicID() == llvm::Intrinsic::nvvm_griddepcontrol_wait;
  };
  for (llvm::Function &function : *code.module) {
    if (function.isDeclaration()) continue;
    const auto wait = llvm::find_if(llvm::instructions(function), isWait);
    REQUIRE(wait != llvm::inst_end(function));
    wait->moveBefore(function.back().getTerminator()->getIterator());
  }
  const auto text = makeAssembly(code, target);
  REQUIRE_FALSE(text);
  CHECK(text.error().kind == Diag::CodeUnlikeOrder);
  CHECK(contains(text.error().message, "global"));
  CHECK(contains(text.error().message, "' stands before the wait for the launch in front"));
}

TEST_CASE("a wait that the assembly has lost is told") {
  const target::GpuTarget &target = targetOf("sm_90a");
  ir::Kernel kernel = programmatic(kernelTable(target.machine()).front().kernel);
  const GpuCode code = codeOf(kernel, target);
  const auto module = code.copy();
  const auto asked = assignAccessNumbers(*module, target);
  auto text = target.assembly(*module);
  REQUIRE(text);
  CHECK_FALSE(differenceFrom(asked, target.accessesOf(*text)));
  text->erase(text->find(kWait), kWait.size());
  const auto found = differenceFrom(asked, target.accessesOf(*text));
  REQUIRE(found);
  CHECK(found->what.starts_with("it has nothing for a wait for the launch before"));
}

TEST_CASE("the assembler takes clusters and programmatic launches" *
          doctest::test_suite("toolkit")) {
  for (const char *name : {"sm_90a", "sm_100a", "sm_103a", "sm_100f", "sm_120a", "sm_121a"}) {
    CAPTURE(std::string(name));
    const target::GpuTarget &target = targetOf(name);
    ir::Kernel kernel = programmatic(kernelTable(target.machine()).front().kernel);
    const auto text = makeAssembly(codeOf(kernel, target), target);
    REQUIRE_MESSAGE(text.ok(), text.error().message);
    CHECK(contains(*text, ".reqnctapercluster 2, 1, 4"));
    CHECK(contains(*text, kWait));
    if (!canAssemble(target)) continue;
    const auto object = makeObject(*text, target);
    CHECK_MESSAGE(object.ok(), object.error().message);
  }
}

} // namespace imbrex::testing
