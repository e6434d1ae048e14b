#pragma once

#include "runtime/aot/bind.h"

/// Which configuration of a kernel a launch runs.
namespace imbrex::aot {

/// Whether a row is about launches that would run code of that machine otherwise.
bool isAbout(const TunedRow &row, const CodeRow &usual);

/// The one of the first row of the kernel's tuning table that fits: it is about the machine that
/// `usual` is for, which the launch would run otherwise, all its ranges have the launch's numbers,
/// and the launch keeps what its configuration requires. The kernel itself where none does.
const KernelRow &configFor(const KernelRow &kernel, const CodeRow &usual,
                           const BoundArguments &bound);

} // namespace imbrex::aot
