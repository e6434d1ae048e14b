#pragma once

#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"

namespace imbrex::ir {

/// Whether a kernel keeps every rule of docs/ir.md; what it does not keep is reported, each error
/// at its op. Total: any kernel is accepted or reported, whatever wrote it, and an accepted one is
/// safe for every pass, for the interpreter and for every target: no operand out of range, no axis
/// out of range, no type that an op does not take.
bool verify(const Kernel &kernel, Diagnostics &diagnostics);

} // namespace imbrex::ir
