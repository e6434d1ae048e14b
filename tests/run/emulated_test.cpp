#include "backend/emulate/emulate.h"
#include "backend/interpret/interpret.h"
#include "backend/lower/lower.h"
#include "backend/pipeline.h"
#include "backend/target/gpu_target.h"
#include "llvm/IR/LLVMContext.h"
#include "tests/support/random_kernel.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

/// The code of GPUs, run by the emulator, against the semantics page and the interpreter.
namespace imbrex {
namespace {

/// Runs a kernel as interpret::run does.
semantics::Executor emulated(const machine::Machine &machine) {
  return [&machine](const ir::Kernel &source, const ir::Grid &grid,
                    llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
    const target::GpuTarget &target = target::gpuTarget(machine);
    ir::Kernel kernel = source.clone();
    const analysis::Assumptions assumptions = analysis::assumptionsOf(kernel, arguments);
    if (!runPasses(kernel, gpuPipeline(), {diagnostics, machine, assumptions})) return false;
    llvm::LLVMContext context;
    llvm::Module module(kernel.name(), context);
    target.prepare(module);
    const lower::KernelInterface interface =
        lower::lowerKernel(kernel, target.vocabulary(), assumptions, module);
    target.optimise(module);
    const auto program = emulate::Program::compile(module, machine, interface, diagnostics);
    return program && program->run(grid, arguments, {}, diagnostics);
  };
}

std::vector<const machine::Machine *> machines() {
  std::vector<const machine::Machine *> chosen;
  for (const char *name : {"sm_90a", "gfx942"}) chosen.push_back(machine::findMachine(name));
  return chosen;
}

TEST_CASE("emulated GPUs give what the semantics page says") {
  for (const machine::Machine *machine : machines())
    for (const semantics::Case &question : semantics::allCases()) {
      CAPTURE(machine->name);
      CAPTURE(question.name);
      CHECK(semantics::runCase(question, emulated(*machine)) == "");
    }
}

TEST_CASE("emulated GPUs and the interpreter leave the same bits, on random kernels") {
  constexpr std::uint32_t kSeeds = 20;
  for (const machine::Machine *machine : machines())
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
      CAPTURE(machine->name);
      CAPTURE(seed);
      const testing::RandomKernel random = testing::randomKernel(seed);
      testing::RandomLaunch onGpu(random), interpreted(random);
      Diagnostics diagnostics;
      REQUIRE(interpret::run(random.kernel, random.grid, interpreted.arguments(), diagnostics));
      const bool ran =
          emulated(*machine)(random.kernel, random.grid, onGpu.arguments(), diagnostics);
      CHECK_MESSAGE(ran, diagnostics.render());
      CHECK(testing::difference(random, onGpu, interpreted) == "");
    }
}

} // namespace
} // namespace imbrex
