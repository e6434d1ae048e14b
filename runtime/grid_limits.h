#pragma once

#include "backend/ir/argument.h"
#include "backend/machine/machine.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace imbrex::runtime {

/// What is wrong with a grid of blocks of so many threads on a GPU, if something is.
std::optional<Diagnostic> checkGrid(const ir::Grid &grid, const machine::Machine &machine,
                                    std::int32_t threads, Location where);

/// The same of a grid in a kernel's clusters, by their extents; empty: there are none.
std::optional<Diagnostic> checkClusters(const ir::Grid &grid, llvm::ArrayRef<std::int64_t> cluster,
                                        Location where);

} // namespace imbrex::runtime
