#include "tests/run/machines/questions.h"

#include "backend/interpret/interpret.h"
#include "backend/ir/text.h"
#include "tests/codegen/table_launch.h"
#include "tests/support/random_agreement.h"

#include <doctest/doctest.h>

namespace imbrex::testing {

void askPage(const semantics::Executor &executor, std::size_t first, std::size_t step) {
  const std::vector<semantics::Case> cases = semantics::allCases();
  for (std::size_t i = first; i < cases.size(); i += step) {
    CAPTURE(cases[i].name);
    CHECK(semantics::runCase(cases[i], executor) == "");
  }
}

void askRandomKernels(const semantics::Executor &executor, std::uint32_t first,
                      std::uint32_t count) {
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    const RandomKernel random = randomKernel(seed, agreementOptions(seed));
    CAPTURE(seed);
    CAPTURE(ir::print(random.kernel));
    RandomLaunch interpreted(random), launch(random);
    Diagnostics diagnostics;
    CHECK(interpret::run(random.kernel, random.grid, interpreted.arguments(), diagnostics, {}));
    CHECK(executor(random.kernel, random.grid, launch.arguments(), diagnostics));
    CHECK(diagnostics.render() == "");
    CHECK(difference(random, launch, interpreted) == "");
  }
}

void askTable(const semantics::Executor &executor) {
  std::vector<TableKernel> table;
  addValueKernels(table);
  addAxisKernels(table);
  addMemoryKernels(table);
  addExampleKernels(table);
  for (const TableKernel &one : table) {
    CAPTURE(one.name);
    TableLaunch interpreted(one), launch(one);
    runInterpreter(one.kernel, one, interpreted);
    Diagnostics diagnostics;
    CHECK(executor(one.kernel, one.grid, launch.arguments(), diagnostics));
    CHECK(diagnostics.render() == "");
    CHECK(launch.difference(interpreted) == "");
  }
}

} // namespace imbrex::testing
