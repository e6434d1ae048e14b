#include "backend/pipeline.h"
#include "backend/target/host/run/host_program.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

/// The host target against the semantics page.
namespace imbrex {
namespace {

bool runOnHost(const ir::Kernel &source, const ir::Grid &grid,
               llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics) {
  ir::Kernel kernel = source.clone();
  if (!runPasses(kernel, hostPipeline(), diagnostics)) return false;
  const std::unique_ptr<host::HostProgram> program =
      host::HostProgram::compile(kernel, diagnostics, arguments);
  return program && program->run(grid, arguments, diagnostics);
}

TEST_CASE("the host gives what the semantics page says") {
  for (const semantics::Case &question : semantics::allCases()) {
    CAPTURE(question.name);
    CHECK(semantics::runCase(question, runOnHost) == "");
  }
}

} // namespace
} // namespace imbrex
