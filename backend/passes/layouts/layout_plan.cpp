#include "backend/passes/layouts/layout_plan.h"

#include "backend/ir/products.h"
#include "backend/passes/layouts/candidates.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <set>

namespace imbrex::passes::layouts {
namespace {

using namespace ir;
using layout::LinearLayout;

// Enough threads to hide the latency of memory, few enough that a small tile does not leave half of
// them without work: what one of them holds of the largest tile, and the most of them.
constexpr std::int64_t kElementsPerThread = 8;
constexpr std::int32_t kMostThreads = 256;

// More threads than that, where the largest tile would else take so many registers of each of them
// that few are left: such code spills, and takes minutes to compile.
constexpr std::int64_t kCrowdedRegisters = kUncrowdedRegisters / kMostThreads;

/// Of all threads together; of each number the largest.
struct TileSize {
  std::int64_t elements = 1;
  std::int64_t registers = 1;
};

TileSize largestTile(const Kernel &kernel) {
  TileSize largest;
  walk(kernel.body(), [&](const Op &op) {
    for (const ValueId result : op.results) {
      const Type &type = kernel.type(result);
      if (!type.isTileOrPointers()) continue;
      largest.elements = std::max(largest.elements, type.shape().elements());
      largest.registers = std::max(largest.registers, registersFor(type));
    }
  });
  return largest;
}

/// The steps of a sort are code for each of a thread's elements, a hundred for ten thousand
/// elements: it wants as many threads as there are.
bool sorts(const Kernel &kernel) {
  return firstOp(kernel.body(), [](const Op &op) { return op.kind == OpKind::Sort; }) != nullptr;
}

/// Of the blocks that products on matrix units are cut for; 0 where there are none.
std::int32_t warpsOfUnits(const Kernel &kernel) {
  std::int64_t warps = 0;
  walk(kernel.body(), [&](const Op &op) {
    if (isOnUnit(op)) warps = llvm::product_of(unitAttrs(op).warps);
  });
  return static_cast<std::int32_t>(warps);
}

/// The layout that a value of this layout has at the other end of the edge, if it stays where it
/// is.
std::optional<LinearLayout> carriedForward(const Edge &edge, const LinearLayout &from) {
  const LinearLayout left = edge.reducedAxis ? layout::withoutAxis(from, *edge.reducedAxis) : from;
  return edge.movement ? resultLayout(*edge.movement, left) : left;
}

std::optional<LinearLayout> carriedBackward(const Edge &edge, const LinearLayout &to) {
  if (edge.reducedAxis) return std::nullopt;
  return edge.movement ? operandLayout(*edge.movement, to) : to;
}

Cost edgeCost(const Edge &edge, const LinearLayout &from, const LinearLayout &to) {
  const LinearLayout held = edge.reducedAxis ? layout::withoutAxis(from, *edge.reducedAxis) : from;
  const LinearLayout wanted = edge.movement ? operandLayout(*edge.movement, to) : to;
  if (edge.slot) return edge.frequency * slotReadCost(*edge.slot, wanted);
  if (wanted == held) return 0;
  constexpr Cost kOddity = 1; // of two layouts for one tile, even where nothing has to move
  return edge.frequency * (kOddity + conversionCost(edge.type, held, wanted));
}

/// A cluster that edges of another lead to; the other itself where they lead back.
struct Neighbour {
  size_t cluster;
  llvm::SmallVector<size_t, 2> edges;
};

size_t otherEnd(const Edge &edge, size_t cluster) {
  return edge.from == cluster ? edge.to : edge.from;
}

/// In the order of the cluster's edges.
std::vector<Neighbour> neighboursOf(const LayoutGraph &graph, size_t cluster) {
  std::vector<Neighbour> neighbours;
  llvm::SmallDenseMap<size_t, size_t, 4> places;
  for (const size_t edge : graph.clusters[cluster].edges) {
    const size_t other = otherEnd(graph.edges[edge], cluster);
    const auto [place, isNew] = places.try_emplace(other, neighbours.size());
    if (isNew) neighbours.push_back({other, {}});
    neighbours[place->second].edges.push_back(edge);
  }
  return neighbours;
}

/// Layouts to choose from, each once, for the sake of the first who asks for it.
class LayoutOptions {
public:
  void add(LayoutCandidate option) {
    const bool isKnown = llvm::any_of(
        options_, [&](const LayoutCandidate &known) { return known.layout == option.layout; });
    if (!isKnown) options_.push_back(std::move(option));
  }
  auto begin() const { return options_.begin(); }
  auto end() const { return options_.end(); }

private:
  llvm::SmallVector<LayoutCandidate, 4> options_;
};

/// Each sweep takes time linear in the clusters and edges: a cluster has few layouts to choose
/// from, however many neighbours ask for them.
class LayoutSearch {
public:
  explicit LayoutSearch(const LayoutQuestion &question)
      : question_(question), graph_(graphOf(question)), chosen_(graph_.clusters.size()) {
    for (size_t i = 0; i < graph_.clusters.size(); ++i)
      neighbours_.push_back(neighboursOf(graph_, i));
  }

  LayoutPlan run() {
    begin();
    constexpr std::int32_t kSweeps = 4; // few kernels need a third
    for (std::int32_t sweep = 0; sweep < kSweeps && improve(); ++sweep) {
    }
    LayoutPlan plan{
        .threads = question_.threads, .graph = std::move(graph_), .chosen = {}, .steps = steps_};
    for (auto &choice : chosen_) plan.chosen.push_back(std::move(*choice));
    return plan;
  }

private:
  /// Those that ask for something get it; then the others, neighbours of the decided first.
  void begin() {
    std::set<size_t> ready;
    const auto decide = [&](size_t cluster, bool isAlone) {
      chosen_[cluster] = best(cluster, isAlone);
      ready.erase(cluster);
      for (const Neighbour &neighbour : neighbours_[cluster])
        if (!chosen_[neighbour.cluster] && graph_.clusters[neighbour.cluster].candidates.empty() &&
            !isBySlots(neighbour))
          ready.insert(neighbour.cluster);
    };
    const auto follow = [&] {
      while (!ready.empty()) decide(*ready.begin(), false);
    };
    // What leads to fragments first: so a tile is converted whole, before it is taken apart.
    for (size_t i = 0; i < graph_.clusters.size(); ++i)
      if (isMultiplied(graph_.clusters[i])) decide(i, true);
    follow();
    for (size_t i = 0; i < graph_.clusters.size(); ++i)
      if (!graph_.clusters[i].candidates.empty() && !chosen_[i]) decide(i, true);
    for (size_t i = 0; i < graph_.clusters.size(); ++i) {
      follow();
      if (!chosen_[i]) decide(i, false);
    }
  }

  static bool isMultiplied(const Cluster &cluster) {
    return llvm::any_of(cluster.works,
                        [](const RepeatedWork &of) { return of.work.fragments.has_value(); });
  }

  /// What reads slots follows those who want something of it: how a slot was filled is no matter.
  bool isBySlots(const Neighbour &neighbour) const {
    return llvm::all_of(neighbour.edges,
                        [&](size_t edge) { return graph_.edges[edge].slot.has_value(); });
  }

  bool improve() {
    bool isBetter = false;
    for (size_t i = 0; i < graph_.clusters.size(); ++i) {
      LayoutCandidate choice = best(i, false);
      if (choice.layout == chosen_[i]->layout) continue;
      chosen_[i] = std::move(choice);
      isBetter = true;
    }
    return isBetter;
  }

  /// The cheapest choice given the neighbours'. Of equally cheap ones the first: what is there,
  /// then what its own ops ask for, then what neighbours have, then what any tile would get.
  LayoutCandidate best(size_t cluster, bool isAlone) {
    const LayoutOptions options = optionsOf(cluster, isAlone);
    const LayoutCandidate *cheapest = nullptr;
    Cost least = 0;
    for (const LayoutCandidate &option : options) {
      const Cost cost =
          ownCost(cluster, option.layout) + (isAlone ? 0 : edgesCost(cluster, option.layout));
      if (cheapest && cost >= least) continue;
      cheapest = &option;
      least = cost;
    }
    return *cheapest;
  }

  LayoutOptions optionsOf(size_t cluster, bool isAlone) const {
    const Cluster &self = graph_.clusters[cluster];
    LayoutOptions options;
    if (self.isFixed) {
      options.add(self.candidates.front());
      return options;
    }
    if (chosen_[cluster]) options.add(*chosen_[cluster]);
    for (const LayoutCandidate &candidate : self.candidates) options.add(candidate);
    if (isAlone) return options;
    for (const size_t index : self.edges)
      if (auto option = imageOf(graph_.edges[index], cluster); option && isWide(self, *option))
        options.add(std::move(*option));
    options.add({plainLayout(self.shape, question_.threads)});
    return options;
  }

  /// Whether threads would access words, as far as the tile's own candidate does.
  static bool isWide(const Cluster &self, const LayoutCandidate &option) {
    constexpr std::int64_t kWord = 32;
    if (!self.loadsWords) return true;
    const AccessShape &access = *self.works.front().work.access;
    const std::int64_t own = vectorOf(access, self.candidates.front().layout);
    return vectorOf(access, option.layout) * access.bits >= std::min(own * access.bits, kWord);
  }

  /// What the other end has, or will ask for first where it is not decided yet.
  std::optional<LayoutCandidate> imageOf(const Edge &edge, size_t cluster) const {
    const size_t end = otherEnd(edge, cluster);
    const auto &candidates = graph_.clusters[end].candidates;
    if (!chosen_[end] && candidates.empty()) return std::nullopt;
    const LayoutCandidate *const other = chosen_[end] ? &*chosen_[end] : &candidates.front();
    auto image = edge.to == cluster ? carriedForward(edge, other->layout)
                                    : carriedBackward(edge, other->layout);
    if (!image) return std::nullopt;
    return LayoutCandidate{std::move(*image), other->by};
  }

  Cost ownCost(size_t cluster, const LinearLayout &layout) {
    Cost cost = 0;
    for (const RepeatedWork &repeated : graph_.clusters[cluster].works)
      cost += repeated.frequency * workCost(repeated.work, layout);
    steps_ += static_cast<std::int64_t>(graph_.clusters[cluster].works.size());
    return cost;
  }

  /// Nobody else is its neighbour.
  bool isLeafOf(size_t leaf, size_t cluster) const {
    return leaf != cluster && neighbours_[leaf].size() == 1;
  }

  /// Of the edges to decided neighbours. A neighbour without others may still follow, or not.
  Cost edgesCost(size_t cluster, const LinearLayout &layout) {
    Cost cost = 0;
    for (const Neighbour &neighbour : neighbours_[cluster]) {
      const size_t other = neighbour.cluster;
      if (other == cluster)
        cost += costBetween(neighbour, cluster, layout, layout);
      else if (chosen_[other] && isLeafOf(other, cluster))
        cost += leafCost(neighbour, cluster, layout);
      else if (chosen_[other])
        cost += costBetween(neighbour, cluster, layout, chosen_[other]->layout);
    }
    return cost;
  }

  Cost costBetween(const Neighbour &neighbour, size_t cluster, const LinearLayout &own,
                   const LinearLayout &other) {
    Cost cost = 0;
    for (const size_t index : neighbour.edges) {
      const Edge &edge = graph_.edges[index];
      cost += edge.from == cluster ? edgeCost(edge, own, other) : edgeCost(edge, other, own);
    }
    steps_ += static_cast<std::int64_t>(neighbour.edges.size());
    return cost;
  }

  Cost leafCost(const Neighbour &leaf, size_t cluster, const LinearLayout &layout) {
    LayoutOptions options;
    options.add({chosen_[leaf.cluster]->layout});
    for (const size_t index : leaf.edges) {
      const Edge &edge = graph_.edges[index];
      auto image =
          edge.from == cluster ? carriedForward(edge, layout) : carriedBackward(edge, layout);
      if (image && !graph_.clusters[leaf.cluster].isFixed) options.add({std::move(*image)});
    }
    std::optional<Cost> least;
    for (const LayoutCandidate &option : options) {
      const Cost cost =
          ownCost(leaf.cluster, option.layout) + costBetween(leaf, cluster, layout, option.layout);
      if (!least || cost < *least) least = cost;
    }
    return *least;
  }

  const LayoutQuestion &question_;
  LayoutGraph graph_;
  std::vector<std::vector<Neighbour>> neighbours_;     // by cluster
  std::vector<std::optional<LayoutCandidate>> chosen_; // by cluster; none: not decided yet
  std::int64_t steps_ = 0;
};

} // namespace

std::int64_t registersFor(const Type &type) {
  std::int64_t registers = std::max<std::int64_t>(bitsHeld(type) / 32, 1);
  for (const std::int64_t extent : type.shape().extents())
    registers *= static_cast<std::int64_t>(llvm::PowerOf2Ceil(static_cast<std::uint64_t>(extent)));
  return registers;
}

std::int64_t leastWarps(const Kernel &kernel, const machine::Machine &machine) {
  const std::int64_t lanes = std::max(machine.warpSize, 1);
  return static_cast<std::int64_t>(
      llvm::divideCeil(largestTile(kernel).registers, lanes * kCrowdedRegisters));
}

std::int32_t mostWarps(const Kernel &kernel, const machine::Machine &machine) {
  const std::int32_t lanes = std::max(machine.warpSize, 1);
  const std::int32_t most = std::max(machine.maxThreads / lanes, 1);
  const std::int32_t registers = kernel.attributes().registers;
  if (registers == 0 || machine.registersPerCore == 0) return most;
  const std::int32_t warps = machine.registersPerCore / (registers * lanes);
  return std::clamp(static_cast<std::int32_t>(llvm::bit_floor(static_cast<std::uint32_t>(warps))),
                    1, most);
}

layout::Threads chooseThreads(const Kernel &kernel, const machine::Machine &machine) {
  const std::int32_t lanes = std::max(machine.warpSize, 1);
  if (kernel.attributes().warps > 0) return {.lanes = lanes, .warps = kernel.attributes().warps};
  if (const std::int32_t warps = warpsOfUnits(kernel)) return {.lanes = lanes, .warps = warps};
  const TileSize largest = largestTile(kernel);
  const std::int32_t most = mostWarps(kernel, machine);
  const std::int32_t mostBusy = sorts(kernel) ? most : std::max(kMostThreads / lanes, 1);
  const std::int64_t busy = std::min<std::int64_t>(largest.elements / (lanes * kElementsPerThread),
                                                   std::min(mostBusy, most));
  const auto warps = static_cast<std::uint64_t>(
      std::clamp<std::int64_t>(std::max(busy, leastWarps(kernel, machine)), 1, most));
  return {.lanes = lanes, .warps = static_cast<std::int32_t>(llvm::bit_ceil(warps))};
}

LayoutPlan planLayouts(const LayoutQuestion &question) { return LayoutSearch(question).run(); }

LinearLayout plainLayout(const Shape &shape, layout::Threads threads) {
  Rows rows{.order = {}, .vector = 4};
  for (std::int32_t axis = shape.rank(); axis-- > 0;) rows.order.push_back(axis);
  return rowLayout(shape, threads, rows);
}

} // namespace imbrex::passes::layouts
