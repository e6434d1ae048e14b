#include "backend/lower/lower.h"
#include "backend/pipeline.h"
#include "backend/target/gpu_target.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/support/random_kernel.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

namespace imbrex {
namespace {

/// What LLVM's verifier says of a kernel's code for a machine; empty when it is well formed.
std::string problemsOf(const ir::Kernel &source, const machine::Machine &machine,
                       const analysis::Assumptions &assumptions) {
  const target::GpuTarget &target = target::gpuTarget(machine);
  ir::Kernel kernel = source.clone();
  Diagnostics diagnostics;
  if (!runPasses(kernel, gpuPipeline(), {diagnostics, machine, assumptions}))
    return diagnostics.render();
  llvm::LLVMContext context;
  const auto lowered = lower::lowerKernel(kernel, target.vocabulary(), assumptions, [&] {
    auto module = std::make_unique<llvm::Module>(kernel.name(), context);
    target.prepare(*module);
    return module;
  });
  if (!lowered) return lowered.error().message;
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::verifyModule(*lowered->module, &stream);
  return text;
}

/// One machine for each size of a warp that there is code for.
std::vector<const machine::Machine *> oneForEachWarpSize() {
  std::vector<const machine::Machine *> chosen;
  for (const machine::Machine &machine : machine::allMachines()) {
    const bool isKnown = llvm::any_of(
        chosen, [&](const machine::Machine *m) { return m->warpSize == machine.warpSize; });
    if (!isKnown && target::findGpuTarget(machine)) chosen.push_back(&machine);
  }
  return chosen;
}

TEST_CASE("every case of the semantics page becomes well-formed code") {
  for (const machine::Machine *machine : oneForEachWarpSize())
    for (const semantics::Case &question : semantics::allCases()) {
      CAPTURE(machine->name);
      CAPTURE(question.name);
      const ir::Kernel kernel = semantics::kernelOf(question);
      for (const auto &assumptions : {analysis::Assumptions{}, analysis::usualAssumptions(kernel)})
        CHECK(problemsOf(kernel, *machine, assumptions) == "");
    }
}

TEST_CASE("random kernels become well-formed code") {
  constexpr std::uint32_t kSeeds = 50;
  for (const machine::Machine *machine : oneForEachWarpSize())
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
      CAPTURE(machine->name);
      CAPTURE(seed);
      const ir::Kernel kernel = testing::randomKernel(seed).kernel;
      for (const auto &assumptions : {analysis::Assumptions{}, analysis::usualAssumptions(kernel)})
        CHECK(problemsOf(kernel, *machine, assumptions) == "");
    }
}

} // namespace
} // namespace imbrex
