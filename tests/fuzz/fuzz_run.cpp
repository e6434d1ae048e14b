#include "backend/interpret/interpret.h"
#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "backend/pipeline.h"
#include "tests/support/golden.h"
#include "tools/imbrex/arguments.h"

#include <string_view>
#include <vector>

using namespace imbrex;

namespace {

// What a mutation may ask for and this machine can't give in a moment.
constexpr std::int64_t kMostElements = 1 << 12;
constexpr std::int64_t kMostSteps = 2000;

bool isSmall(const ir::Kernel &kernel) {
  for (std::uint32_t i = 0; i < kernel.valueCount(); ++i) {
    const ir::Type &type = kernel.type(ir::ValueId(i));
    if (type.isTileOrPointers() && type.shape().elements() > kMostElements) return false;
  }
  return true;
}

std::vector<tool::BoundArgument> smallArguments(const ir::Kernel &kernel) {
  constexpr std::string_view kShapes[] = {"", "64", "8x8", "4x4x4", "2x4x4x2", "2x2x2x2x4"};
  std::vector<tool::BoundArgument> arguments;
  for (const ir::ValueId parameter : kernel.body().arguments) {
    const ir::Type &type = kernel.type(parameter);
    const auto shape = kShapes[type.isView() ? static_cast<std::size_t>(type.rank()) : 1];
    const std::string value = type.isScalar() ? "1" : "random:" + std::string(shape);
    auto bound = tool::bindArgument(type, {.name = "p", .value = value});
    IMBREX_CHECK(bound.ok(), "{0}", render(bound.error()));
    arguments.push_back(std::move(*bound));
  }
  return arguments;
}

void runOnInterpreter(const ir::Kernel &kernel) {
  std::vector<tool::BoundArgument> bound = smallArguments(kernel);
  std::vector<ir::Argument> arguments;
  for (const tool::BoundArgument &one : bound) arguments.push_back(one.argument);
  Diagnostics diagnostics;
  const interpret::InterpreterOptions options{.races = interpret::InterpreterOptions::Races::Watch,
                                              .mostSteps = kMostSteps,
                                              .print = [](std::string_view) {}};
  interpret::run(kernel, {.extents = {2, 1, 1}}, arguments, diagnostics, options);
}

} // namespace

/// Whatever the verifier accepts goes through the pipeline and runs, before and after: to its end
/// or to an error, never to a crash.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  for (const testing::GoldenCase &one : testing::goldenCases(text)) {
    Diagnostics diagnostics;
    auto kernel = ir::parse(one.input, "fuzz.imx", diagnostics);
    if (!kernel || !ir::verify(*kernel, diagnostics) || !isSmall(*kernel)) continue;
    runOnInterpreter(*kernel);
    if (runPasses(*kernel, hostPipeline(), diagnostics)) runOnInterpreter(*kernel);
  }
  return 0;
}
