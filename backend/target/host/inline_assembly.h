#pragma once

#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"

/// The instructions of inline_asm (backend/lower/inline_assembly.h), tried out here.
namespace imbrex::host {

/// Whether every inline_asm of the kernel is for this machine and assembles here. Each that is not
/// is reported, at its line. Costs nothing where there is none; otherwise each is compiled alone.
bool checkAssembly(const ir::Kernel &kernel, Diagnostics &diagnostics);

} // namespace imbrex::host
