#include "backend/pipeline.h"
#include "backend/target/host/compiler.h"
#include "backend/target/host/run/host_program.h"
#include "backend/target/host/run/jit.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "tests/run/machines/questions.h"

#include <doctest/doctest.h>

/// The code that the host target makes for older x86-64 processors than the one that the tests run
/// on, which executes it.
namespace imbrex::testing {
namespace {

struct OlderCpu {
  std::string name;  // LLVM's
  std::string needs; // a feature that has to be here; none
  host::VectorUnit vectors;
};
const OlderCpu kBaseline{"x86-64", "", {.bits = 128, .registers = 16}};
const OlderCpu kAvx2{"haswell", "avx2", {.bits = 256, .registers = 16}};

std::unique_ptr<llvm::TargetMachine> targetMachineOf(const OlderCpu &cpu) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::orc::JITTargetMachineBuilder builder{llvm::Triple(llvm::sys::getProcessTriple())};
  builder.setCPU(cpu.name);
  return host::targetMachineOf(std::move(builder));
}

/// Ask the processor that this one can be; say so where it cannot.
void ask(const OlderCpu &cpu, const std::function<void(semantics::Executor)> &question) {
  if (!llvm::Triple(llvm::sys::getProcessTriple()).isX86() ||
      (!cpu.needs.empty() && !llvm::sys::getHostCPUFeatures().lookup(cpu.needs))) {
    MESSAGE("SKIP: this processor cannot execute code for ", cpu.name);
    return;
  }
  CAPTURE(cpu.name);
  host::Compiler compiler(targetMachineOf(cpu));
  CHECK(compiler.machine().vectors.bits == cpu.vectors.bits);
  CHECK(compiler.machine().vectors.registers == cpu.vectors.registers);
  CHECK_FALSE(compiler.machine().hasAvx512);
  question([&](const ir::Kernel &source, const ir::Grid &grid,
               llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
    ir::Kernel kernel = source.clone();
    if (!runPasses(kernel, hostPipeline(), diagnostics)) return false;
    const auto program = host::HostProgram::compile(kernel, diagnostics, arguments, compiler);
    return program && program->run(grid, arguments, diagnostics);
  });
}

void askSome(const semantics::Executor &executor) {
  askPage(executor, 0, 10);
  askRandomKernels(executor, 80, 30);
}

} // namespace

TEST_CASE("x86: a processor without AVX agrees") { ask(kBaseline, askSome); }
TEST_CASE("x86: a processor with AVX2 agrees") { ask(kAvx2, askSome); }

// Run by --no-skip: ten minutes.
TEST_CASE("every x86 agrees" * doctest::skip()) {
  for (const OlderCpu &cpu : {kBaseline, kAvx2})
    ask(cpu, [](const semantics::Executor &executor) {
      askPage(executor);
      askRandomKernels(executor, 0, 300);
      askTable(executor);
    });
}

} // namespace imbrex::testing
