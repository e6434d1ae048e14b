#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "backend/pipeline.h"
#include "backend/support/environment.h"
#include "tests/support/golden.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>

using namespace imbrex;
using testing::GoldenCase;

namespace {

void runNamed(ir::Kernel &kernel, const GoldenCase &one, Diagnostics &diagnostics) {
  const machine::Machine *machine = machine::machineNamed(one.target(), diagnostics);
  REQUIRE_MESSAGE(machine, "there is no target ", one.target());
  const auto assumptions = analysis::usualAssumptions(kernel);
  for (const std::string &name : one.passes()) {
    const auto passes = allPasses();
    const auto pass = std::ranges::find(passes, name, &Pass::name);
    REQUIRE_MESSAGE(pass != passes.end(), "there is no pass ", name);
    if (!runPasses(kernel, *pass, {diagnostics, *machine, assumptions}) ||
        !ir::verify(kernel, diagnostics))
      return;
  }
}

/// The diagnostics, and behind them the kernel unless there was an error.
std::string outputOf(const GoldenCase &one, const std::string &fileName) {
  Diagnostics diagnostics;
  auto kernel = ir::parse(one.input, fileName, diagnostics);
  if (kernel && ir::verify(*kernel, diagnostics)) runNamed(*kernel, one, diagnostics);
  CHECK(diagnostics.hasErrors() == one.wantsError());
  return diagnostics.render() + (diagnostics.hasErrors() ? "" : print(*kernel));
}

} // namespace

TEST_CASE("every golden file holds what its input becomes") {
  for (const auto &path : testing::goldenFiles(".")) {
    CAPTURE(path.string());
    const std::string text = testing::readFile(path);
    auto cases = testing::goldenCases(text);
    for (GoldenCase &one : cases) {
      CAPTURE(one.input);
      const bool isTitled =
          one.header.starts_with("# passes:") || one.header.starts_with("# error");
      CHECK_MESSAGE(isTitled, "a case begins with '# passes:' or '# error'");
      std::string output = outputOf(one, path.filename().string());
      if (!environment().updateGolden) CHECK(output == one.expected);
      one.expected = std::move(output);
    }
    if (environment().updateGolden && testing::goldenText(cases) != text)
      std::ofstream(path, std::ios::binary) << testing::goldenText(cases);
  }
}

TEST_CASE("every op stands in a golden file") {
  std::set<ir::OpKind> seen;
  for (const auto &path : testing::goldenFiles("."))
    for (const GoldenCase &one : testing::goldenCases(testing::readFile(path))) {
      Diagnostics diagnostics;
      const auto kernel = ir::parse(one.expected, "golden.imx", diagnostics);
      if (kernel) walk(kernel->body(), [&](const ir::Op &op) { seen.insert(op.kind); });
    }
  for (const ir::OpKind kind : ir::allOpKinds()) {
    CAPTURE(ir::info(kind).mnemonic);
    CHECK(seen.contains(kind));
  }
}
