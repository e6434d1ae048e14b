#pragma once

#include "backend/ir/kernel.h"

#include <cstdint>
#include <optional>
#include <set>

/// Tiles that nothing but products reads, which need not be in registers as a whole.
namespace imbrex::analysis {

/// Whether an op names a tile's elements anew, or holds them on other threads: of a tile that is
/// read where it lies, nothing moves.
bool passesOn(const ir::Kernel &kernel, const ir::Op &op);

/// The names of a tile, its own and those that are given to it or its parts on the way, where
/// nothing but products reads it and can do so where it lies; nothing where anything else does. Of
/// its padding products make padding.
std::optional<std::set<ir::ValueId>> namesInProducts(const ir::Kernel &kernel, ir::ValueId tile);

/// The axis of such a tile along which the first product sums up; nothing where a reshape has
/// hidden it.
std::optional<std::int32_t> depthAxisOf(const ir::Kernel &kernel, ir::ValueId tile);

} // namespace imbrex::analysis
