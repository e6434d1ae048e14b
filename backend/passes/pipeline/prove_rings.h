#pragma once

#include "backend/passes/pipeline/read_schedule.h"

namespace imbrex::passes::pipeline {

/// Prove what a kernel's rings do, for all numbers of trips: what was proven; nothing, and what is
/// wrong with the lines of the loads, where it is not safe. Of a kernel without rings a program
/// without roles.
std::optional<KernelSchedule> proveRings(const ir::Kernel &kernel, const machine::Machine &machine,
                                         Diagnostics &diagnostics);

} // namespace imbrex::passes::pipeline
