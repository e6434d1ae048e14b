#pragma once

#include "backend/compile.h"

#include <doctest/doctest.h>

namespace imbrex::testing {

/// The only error of a compilation that takes nothing for granted; none where it has gone well.
inline std::optional<Diagnostic> compileError(ir::Kernel kernel, const machine::Machine &machine) {
  Diagnostics diagnostics;
  const auto code = compileForGpu(kernel, target::gpuTarget(machine), {}, diagnostics);
  CHECK(code.has_value() == diagnostics.all().empty());
  if (code) return std::nullopt;
  REQUIRE(diagnostics.all().size() == 1);
  return diagnostics.all()[0];
}

} // namespace imbrex::testing
