#include "backend/interpret/interpret.h"
#include "backend/ir/text.h"
#include "backend/pipeline.h"
#include "backend/target/host/program.h"
#include "tests/support/random_kernel.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

/// The host target against the semantics page and against the interpreter.
namespace imbrex {
namespace {

bool runOnHost(const ir::Kernel &source, const ir::Grid &grid,
               llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
  ir::Kernel kernel = source.clone();
  if (!runPasses(kernel, hostPipeline(), diagnostics)) return false;
  const std::unique_ptr<host::Program> program = host::Program::compile(kernel, diagnostics);
  return program && program->run(grid, arguments, diagnostics);
}

TEST_CASE("the host gives what the semantics page says") {
  for (const semantics::Case &question : semantics::allCases()) {
    CAPTURE(question.name);
    CHECK(semantics::runCase(question, runOnHost) == "");
  }
}

TEST_CASE("the host and the interpreter leave the same bits, on random kernels") {
  constexpr std::uint32_t kSeeds = 160;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    // Small ones mostly: what takes long is to compile, and two ops can meet in a small one too.
    const testing::RandomKernel random =
        testing::randomKernel(seed, {.size = seed % 20 == 0 ? 30 : 8});
    testing::RandomLaunch onHost(random), interpreted(random);
    Diagnostics diagnostics;
    REQUIRE(interpret::run(random.kernel, random.grid, interpreted.arguments(), diagnostics));
    REQUIRE(runOnHost(random.kernel, random.grid, onHost.arguments(), diagnostics));
    REQUIRE(testing::difference(random, onHost, interpreted) == "");
  }
}

} // namespace
} // namespace imbrex
