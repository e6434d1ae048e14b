#pragma once

#include "backend/machine/machine.h"
#include "backend/passes/layouts/sites.h"

namespace imbrex::passes::layouts {

/// What assign-layouts has decided, before anything is changed.
struct LayoutPlan {
  layout::Threads threads;
  std::vector<Site> sites;
  std::vector<layout::LinearLayout> layouts; ///< One for each site.
};

/// How many threads a block of this kernel is to have.
layout::Threads chooseThreads(const ir::Kernel &kernel, const machine::Machine &machine);

LayoutPlan planLayouts(ir::Kernel &kernel, const machine::Machine &machine);

/// Write the plan into the kernel, with conversions where a tile is wanted otherwise than it is
/// held. A conversion stands behind the definition of what it converts, so that one serves all
/// uses, and none stays in a loop that it could leave.
void applyLayouts(ir::Kernel &kernel, const LayoutPlan &plan);

} // namespace imbrex::passes::layouts
