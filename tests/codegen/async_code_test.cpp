#include "backend/target/gpu_target.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SourceMgr.h"
#include "tests/support/assembler.h"
#include "tests/unit/emulate/async_kernels.h"

#include <doctest/doctest.h>

using namespace imbrex;

namespace {

std::unique_ptr<llvm::Module> parsed(const std::string &text, llvm::LLVMContext &context) {
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  REQUIRE_MESSAGE(module != nullptr, problem.getMessage().str());
  return module;
}

void checkCode(const target::GpuTarget &target, const AsyncKernel &kernel, bool isAssembled) {
  CAPTURE(std::string(target.machine().name));
  CAPTURE(std::string(kernel.what));
  llvm::LLVMContext context;
  const auto module = parsed(kernel.text, context);
  target.prepare(*module);
  target.optimise(*module);
  if (!isAssembled) {
    CHECK(target.assembly(*module).ok());
    return;
  }
  const auto object = target.objectOf(target.assembly(*module).value());
  CHECK_MESSAGE(object.ok(), (object.ok() ? "" : render(object.error())));
}

} // namespace

TEST_CASE("the emulator's kernels with copies are code for the machines that they are run for" *
          doctest::test_suite("toolkit")) {
  for (const AsyncRow &row : asyncTable()) {
    const machine::Machine &machine = *machine::findMachine(row.machine);
    const target::GpuTarget *target = target::findGpuTarget(machine);
    REQUIRE(target != nullptr);
    const bool isAssembled = testing::canAssemble(*target);
    for (const AsyncKernel &kernel : row.kernels) checkCode(*target, kernel, isAssembled);
  }
}
