#pragma once

#include "backend/machine/machine.h"
#include "backend/passes/layouts/layout_graph.h"

namespace imbrex::passes::layouts {

/// What assign-layouts has decided, before anything is changed.
struct LayoutPlan {
  layout::Threads threads;
  LayoutGraph graph;
  std::vector<LayoutCandidate> chosen; ///< For each cluster of the graph.
  std::int64_t steps = 0; ///< Costs that the search reckoned: its time grows with these.
};

/// The registers that the threads hold a tile in, or work on it: one for each element at least, for
/// few ops do two in one, and padding has some, too.
std::int64_t registersFor(const ir::Type &tile);
/// The most that a tile can take without being in the way: 128 of each of 256 threads.
inline constexpr std::int64_t kUncrowdedRegisters = 256 * 128;

/// The warps of which no thread holds so much of a tile that its registers are crowded.
std::int64_t leastWarps(const ir::Kernel &kernel, const machine::Machine &machine);

/// The most warps of a block, a power of two: those that have the registers that the author asks
/// for.
std::int32_t mostWarps(const ir::Kernel &kernel, const machine::Machine &machine);

/// How many threads a block of this kernel is to have.
layout::Threads chooseThreads(const ir::Kernel &kernel, const machine::Machine &machine);

/// The choice of least cost that a search finds: it begins with what accesses and products ask
/// for, lets the others follow their neighbours, and then improves one cluster after the other.
LayoutPlan planLayouts(const LayoutQuestion &question);

/// Write the plan into the kernel. Where a tile is wanted otherwise than it is held, it is
/// recomputed if it can be, and converted if not, right behind its definition: so that one serves
/// all uses, and none stays in a loop that it could leave.
void applyLayouts(ir::Kernel &kernel, const LayoutPlan &plan);

/// What a tile gets that nobody asks for.
layout::LinearLayout plainLayout(const ir::Shape &shape, layout::Threads threads);

} // namespace imbrex::passes::layouts
