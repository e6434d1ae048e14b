#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/ArrayRef.h"

namespace imbrex::interpret {

/// Run a kernel at stage Tiles, block after block, by the reference semantics of docs/semantics.md:
/// slow, obvious, and watching. Reports (and returns false after) an access outside an argument's
/// bytes, a read of bytes that were marked uninitialised, two blocks that touch the same bytes
/// without atomics and at least one writes, a failed assert, an inline_asm.
bool run(const ir::Kernel &kernel, const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
         Diagnostics &diagnostics);

} // namespace imbrex::interpret
