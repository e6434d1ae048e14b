#pragma once

#include "backend/passes/layouts/layout_plan.h"

#include <string>

namespace imbrex::passes::layouts {

/// Why the tiles of a kernel are held as they are, for people: who asked for each layout, how wide
/// the accesses are and what keeps them from being wider, and for each conversion what wants it and
/// how it is made. Layouts are spelled out, for `ir::withLayoutNumbers`. The plan has been applied.
std::string explainLayouts(const ir::Kernel &kernel, const LayoutPlan &plan);

} // namespace imbrex::passes::layouts
