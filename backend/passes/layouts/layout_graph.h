#pragma once

#include "backend/analysis/axis_info.h"
#include "backend/analysis/movement.h"
#include "backend/passes/layouts/cost.h"
#include "backend/passes/layouts/recompute.h"
#include "backend/passes/layouts/sites.h"

/// What is to be decided: which sites share a layout, and what lies between those that need not.
namespace imbrex::passes::layouts {

/// A layout that somebody asks for.
struct Candidate {
  layout::LinearLayout layout;
  const ir::Op *by = nullptr; ///< Who asks; null: nobody, it is what any tile of the shape gets.
};

/// An access to memory, of a site.
struct Access {
  size_t site;
  AccessShape shape;
  analysis::WidthLimit limit; ///< What keeps it from being wider.
};

/// Sites that share one layout: elementwise ops and all that passes a tile on unchanged. Accesses
/// to memory and sorts are clusters of their own, so that a conversion may stand before or behind.
struct Cluster {
  ir::Shape shape;
  llvm::SmallVector<size_t, 4> sites;
  llvm::SmallVector<size_t, 4> edges;
  llvm::SmallVector<Candidate, 4> candidates;
};

/// A tile on its way from one cluster to another. It is free if it stays in its threads.
struct Edge {
  size_t from, to; ///< Clusters.
  ir::ValueId value;
  const ir::Op *op; ///< That takes it.
  std::optional<std::int32_t> reducedAxis =
      {};                                ///< The value is what is left of the cluster's tile.
  std::optional<analysis::Movement> movement = {}; ///< The op moves it to a tile of the other cluster.
  Cost frequency = 1;
};

struct LayoutGraph {
  std::vector<Site> sites;
  std::vector<Cluster> clusters;
  std::vector<Edge> edges;
  std::vector<Access> accesses;
  std::vector<Cost> frequencies; ///< Of sites: how much oftener than once they run.
  std::vector<size_t> clusterOf; ///< Of sites; kNoCluster where everything is recomputed.
  static constexpr size_t kNoCluster = static_cast<size_t>(-1);
};

/// What a pass knows about a kernel when it lays it out.
struct LayoutQuestion {
  ir::Kernel &kernel;
  layout::Threads threads;
  const analysis::AxisAnalysis &facts;
  const analysis::Assumptions &assumptions;
};

LayoutGraph graphOf(const LayoutQuestion &question);

} // namespace imbrex::passes::layouts
