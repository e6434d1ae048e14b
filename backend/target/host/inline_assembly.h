#pragma once

#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"
#include "backend/target/host/compiler.h"

/// The instructions of inline_asm (backend/lower/values/inline_assembly.h), tried out here.
namespace imbrex::host {

/// Whether every inline_asm of the kernel is for this compiler's machine and assembles. Each that
/// is not is reported, at its line. Costs nothing where there is none; otherwise each is compiled
/// alone.
bool checkAssembly(const ir::Kernel &kernel, Compiler &compiler, Diagnostics &diagnostics);

} // namespace imbrex::host
