#include "backend/passes/pipeline/prove_rings.h"

#include "backend/schedule/check/check.h"

namespace imbrex::passes::pipeline {

using namespace ir;

bool isBeyondProof(const Kernel &kernel, const machine::Machine &machine) {
  // So much takes up to 5 ms. Two loops in each other with twelve slots each and a role that loads
  // take nearly as much, most kernels less than a tenth.
  constexpr std::int64_t kWorkOfTry = 800'000;
  if (!hasRings(kernel)) return false;
  Diagnostics unread;
  const auto read = readSchedule(kernel, machine, unread);
  return read && schedule::takesMoreWork(read->program, kWorkOfTry);
}

std::optional<KernelSchedule> proveRings(const Kernel &kernel, const machine::Machine &machine,
                                         Diagnostics &diagnostics) {
  if (!hasRings(kernel)) return KernelSchedule{.program = {.name = kernel.name()}};
  auto read = readSchedule(kernel, machine, diagnostics);
  if (!read || !schedule::report(schedule::prove(read->program), diagnostics)) return std::nullopt;
  return read;
}

} // namespace imbrex::passes::pipeline
