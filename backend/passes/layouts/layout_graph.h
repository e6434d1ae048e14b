#pragma once

#include "backend/analysis/axis_info.h"
#include "backend/analysis/movement.h"
#include "backend/machine/machine.h"
#include "backend/passes/layouts/cost.h"
#include "backend/passes/layouts/recompute.h"
#include "backend/passes/layouts/sites.h"

/// What is to be decided: which sites share a layout, and what lies between those that need not.
namespace imbrex::passes::layouts {

/// A layout that somebody asks for.
struct LayoutCandidate {
  layout::LinearLayout layout;
  const ir::Op *by = nullptr; ///< Who asks; null: nobody, it is what any tile of the shape gets.
};

/// An access to memory, of a site.
struct SiteAccess {
  size_t site;
  AccessShape shape;
  analysis::WidthLimit limit; ///< What keeps it from being wider.
};

/// Works of a cluster that cost alike, and how often they are done.
struct RepeatedWork {
  TileWork work;
  Cost frequency;
};

/// Sites that share one layout: elementwise ops and all that passes a tile on unchanged. Accesses
/// to memory, sorts and products on matrix units are clusters of their own, so that a conversion
/// may stand before or behind.
struct Cluster {
  ir::Shape shape;
  llvm::SmallVector<RepeatedWork, 1> works = {};
  llvm::SmallVector<size_t, 4> edges = {};
  llvm::SmallVector<LayoutCandidate, 1> candidates = {};
  /// A load for a product's operand: bytes one by one would be as many accesses as the operand has
  /// elements, each for a whole warp.
  bool loadsWords = false;
  bool isFixed = false; ///< The first candidate it is: a machine's instruction wants it so.
};

/// Tiles on their way from one cluster to another, all of one type and moved in one way. They are
/// free if they stay in their threads.
struct Edge {
  size_t from, to; ///< Clusters.
  ir::Type type;
  /// The tiles are what is left of the cluster's.
  std::optional<std::int32_t> reducedAxis = {};
  /// An op moves them to tiles of the other cluster.
  std::optional<analysis::Movement> movement = {};
  /// The tile lies in a slot of shared memory that is filled so, and each user reads it there.
  std::optional<AccessShape> slot = {};
  Cost frequency = 1; ///< Of all of them together.
};

struct LayoutGraph {
  std::vector<LayoutSite> sites;
  std::vector<Cluster> clusters;
  std::vector<Edge> edges;
  std::vector<SiteAccess> accesses;
  std::vector<size_t> clusterOf; ///< Of sites; kNoCluster where everything is recomputed.
  static constexpr size_t kNoCluster = static_cast<size_t>(-1);
};

/// What a pass knows about a kernel when it lays it out.
struct LayoutQuestion {
  ir::Kernel &kernel;
  layout::Threads threads;
  const machine::Machine &machine;
  const analysis::AxisAnalysis &facts;
  const analysis::Assumptions &assumptions;
};

LayoutGraph graphOf(const LayoutQuestion &question);

} // namespace imbrex::passes::layouts
