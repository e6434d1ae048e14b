#pragma once

#include "backend/ir/argument.h"
#include "backend/machine/machine.h"
#include "backend/support/diagnostics.h"

#include <optional>

namespace imbrex::runtime {

/// What is wrong with a grid of blocks of so many threads on a GPU, if something is.
std::optional<Diagnostic> checkGrid(const ir::Grid &grid, const machine::Machine &machine,
                                    std::int32_t threads, Location where);

} // namespace imbrex::runtime
