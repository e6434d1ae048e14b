#include "backend/interpret/interpret.h"
#include "tests/support/random_kernel.h"

#include <doctest/doctest.h>

using namespace imbrex;

TEST_CASE("a valid kernel runs to its end at either stage, without a complaint") {
  for (const ir::Stage stage : {ir::Stage::Tiles, ir::Stage::Traced}) {
    for (std::uint32_t seed = 0; seed < 150; ++seed) {
      CAPTURE(seed);
      const auto random = testing::randomKernel(
          seed, {.size = 30, .stage = stage, .runnable = true, .exact = false});
      const testing::RandomLaunch launch(random);
      Diagnostics diagnostics;
      interpret::run(random.kernel, random.grid, launch.arguments(), diagnostics);
      CHECK(diagnostics.render() == "");
    }
  }
}
