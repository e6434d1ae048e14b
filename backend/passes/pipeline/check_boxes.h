#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"
#include "backend/support/diagnostics.h"

namespace imbrex::passes::pipeline {

/// Whether a machine's engine can load the boxes that a kernel asks it for, of any view that a
/// launch may pass, and sees in them what the kernel means. True for a kernel without.
bool checkBoxes(const ir::Kernel &kernel, const machine::Machine &machine,
                const analysis::Assumptions &assumptions, Diagnostics &diagnostics);

} // namespace imbrex::passes::pipeline
