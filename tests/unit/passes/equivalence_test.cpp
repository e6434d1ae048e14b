#include "backend/interpret/interpret.h"
#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "backend/pipeline.h"
#include "tests/support/random_kernel.h"

#include <doctest/doctest.h>

using namespace imbrex;
using testing::RandomKernel;
using testing::RandomLaunch;

namespace {

constexpr std::uint32_t kSeeds = 200;

RandomLaunch launched(const RandomKernel &random, const ir::Kernel &kernel) {
  RandomLaunch launch(random);
  Diagnostics diagnostics;
  interpret::run(kernel, random.grid, launch.arguments(), diagnostics);
  CHECK_MESSAGE(!diagnostics.hasErrors(), diagnostics.render());
  return launch;
}

/// A kernel after some passes, which may take for granted what holds of the launch, does what it
/// did before them.
void checkSame(const RandomKernel &random, const RandomLaunch &before, llvm::ArrayRef<Pass> passes,
               const machine::Machine &machine = machine::hostMachine()) {
  ir::Kernel after = random.kernel.clone();
  Diagnostics diagnostics;
  const auto kept = analysis::assumptionsOf(after, RandomLaunch(random).arguments(),
                                            analysis::usualAssumptions(after));
  REQUIRE_MESSAGE(runPasses(after, passes, {diagnostics, machine, kept}), diagnostics.render());
  const std::string changed = difference(random, before, launched(random, after));
  CHECK_MESSAGE(changed.empty(), changed << "\n" << ir::print(random.kernel) << ir::print(after));
}

} // namespace

TEST_CASE("no pass changes what a random kernel computes, nor does the pipeline") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    const RandomKernel random = testing::randomKernel(seed);
    const RandomLaunch before = launched(random, random.kernel);
    for (const Pass &pass : allPasses()) {
      if (pass.from >= ir::Stage::Laid) continue; // below
      CAPTURE(pass.name);
      checkSame(random, before, pass);
    }
    checkSame(random, before, hostPipeline());
  }
}

TEST_CASE("a random kernel with variables is right after each pass of the pipeline") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    RandomKernel random = testing::randomKernel(seed, {.stage = ir::Stage::Traced});
    Diagnostics diagnostics;
    REQUIRE_MESSAGE(runPasses(random.kernel, hostPipeline().take_front(), diagnostics),
                    diagnostics.render());
    checkSame(random, launched(random, random.kernel), hostPipeline().drop_front());
  }
}

TEST_CASE("a random kernel does on a GPU's threads what it did before it had any") {
  machine::Machine wide = *machine::findMachine("sm_90a");
  wide.warpSize = 64;
  wide.asyncCopies = {}; // so that loads run ahead in registers
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    const RandomKernel random = testing::randomKernel(seed);
    const RandomLaunch before = launched(random, random.kernel);
    checkSame(random, before, gpuPipeline().take_back(gpuPipelineFrom(ir::Stage::Laid).size() + 1));
    checkSame(random, before, gpuPipeline(), *machine::findMachine("sm_90a"));
    checkSame(random, before, gpuPipeline(), wide);
  }
}
