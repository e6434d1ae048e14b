#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "tests/support/random_kernel.h"

#include <doctest/doctest.h>

#include <set>

using namespace imbrex;
using namespace imbrex::ir;
using testing::randomKernel;

namespace {

constexpr std::uint32_t kSeeds = 500;

testing::RandomKernelOptions optionsOf(std::uint32_t seed) {
  return {.size = static_cast<std::int32_t>(seed % 60),
          .stage = seed % 3 == 0 ? Stage::Traced : Stage::Tiles,
          .runnable = seed % 2 == 0,
          .exact = seed % 5 != 0};
}

} // namespace

TEST_CASE("random kernels keep every rule, print, and parse to the same text") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    const Kernel kernel = randomKernel(seed, optionsOf(seed)).kernel;
    const std::string text = print(kernel);
    Diagnostics diagnostics;
    INFO(text);
    REQUIRE_MESSAGE(verify(kernel, diagnostics), diagnostics.render());
    const auto parsed = parse(text, "random.imx", diagnostics);
    REQUIRE_MESSAGE(parsed, diagnostics.render());
    REQUIRE(print(*parsed) == text);
    REQUIRE_MESSAGE(verify(*parsed, diagnostics), diagnostics.render());
  }
}

TEST_CASE("random kernels have every op") {
  std::set<OpKind> seen;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed)
    walk(randomKernel(seed, optionsOf(seed)).kernel.body(),
         [&](const Op &op) { seen.insert(op.kind); });
  for (const OpKind kind : allOpKinds()) {
    CAPTURE(info(kind).mnemonic);
    CHECK(seen.contains(kind));
  }
}
