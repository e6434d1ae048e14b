#pragma once

#include "backend/ir/kernel.h"

#include <optional>

namespace imbrex::passes::pipeline {

/// The layout that all who use a tile convert it to, so that a slot had better be read in it at
/// once; nothing where somebody wants the tile as it is, or in another layout than the rest.
std::optional<ir::LayoutId> wantedLayout(const ir::Kernel &kernel, ir::ValueId tile);

} // namespace imbrex::passes::pipeline
