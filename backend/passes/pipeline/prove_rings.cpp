#include "backend/passes/pipeline/prove_rings.h"

#include "backend/schedule/check/check.h"

namespace imbrex::passes::pipeline {

using namespace ir;

std::optional<KernelSchedule> proveRings(const Kernel &kernel, const machine::Machine &machine,
                                         Diagnostics &diagnostics) {
  if (!hasRings(kernel)) return KernelSchedule{.program = {.name = kernel.name()}};
  auto read = readSchedule(kernel, machine, diagnostics);
  if (!read || !schedule::report(schedule::prove(read->program), diagnostics)) return std::nullopt;
  return read;
}

} // namespace imbrex::passes::pipeline
