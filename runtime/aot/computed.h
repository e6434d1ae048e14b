#pragma once

#include "runtime/aot/bind.h"

/// What a launch computes from its arguments before anything runs.
namespace imbrex::aot {

/// Whether the launch keeps what the kernel requires.
bool keepsRequired(const KernelRow &kernel, const BoundArguments &bound);
/// An imbrex_status: whether the launch keeps what the kernel requires.
int checkRequired(const KernelRow &kernel, const BoundArguments &bound);

/// An imbrex_status. The grid is the launch's, or the kernel's own. One without blocks has none
/// along any axis.
int bindGrid(const KernelRow &kernel, const imbrex_grid *grid, BoundArguments &bound);

} // namespace imbrex::aot
