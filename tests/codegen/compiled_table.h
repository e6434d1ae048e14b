#pragma once

#include "backend/assembly.h"
#include "backend/compile.h"
#include "tests/codegen/kernel_table.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace imbrex::testing {

/// The machines of a family that this build has code for.
inline std::vector<const target::GpuTarget *> targetsOf(machine::Family family) {
  std::vector<const target::GpuTarget *> found;
  for (const machine::Machine &machine : machine::allMachines())
    if (machine.family == family)
      if (const auto *target = target::findGpuTarget(machine)) found.push_back(target);
  return found;
}

/// The kernels of the semantics page, each by a name of its own.
inline std::vector<TableKernel> pageKernels(const machine::Machine & /*machine*/) {
  std::vector<TableKernel> kernels;
  for (semantics::Case question : semantics::allCases()) {
    const std::string name = "case" + std::to_string(kernels.size());
    question.text.replace(question.text.find("@case"), 5, "@" + name);
    kernels.push_back(
        {.name = name, .kernel = semantics::kernelOf(question), .grid = {}, .arguments = {}});
  }
  return kernels;
}

/// Brings a kernel to LLVM IR, for a launch with these arguments or, without any, for those that
/// most are.
inline GpuCode codeOf(ir::Kernel &kernel, const target::GpuTarget &target,
                      llvm::ArrayRef<ir::Argument> launch = {}) {
  const auto usual = analysis::usualAssumptions(kernel);
  Diagnostics diagnostics;
  auto code = compileForGpu(kernel, target,
                            launch.empty() ? usual : analysis::assumptionsOf(kernel, launch, usual),
                            diagnostics);
  REQUIRE_MESSAGE(code, diagnostics.render());
  return std::move(*code);
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

} // namespace imbrex::testing
