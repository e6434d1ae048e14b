#include "backend/passes/layouts/layout_plan.h"

#include "backend/passes/layouts/candidates.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>

namespace imbrex::passes::layouts {
namespace {

using namespace ir;
using layout::LinearLayout;

// Enough threads to hide the latency of memory, few enough that a small tile does not leave half of
// them without work: what one of them holds of the largest tile, and the most of them.
constexpr std::int64_t kElementsPerThread = 8;
constexpr std::int32_t kMostThreads = 256;

std::int64_t largestTile(const Kernel &kernel) {
  std::int64_t largest = 1;
  walk(kernel.body(), [&](const Op &op) {
    for (const ValueId result : op.results)
      if (kernel.type(result).isTileOrPointers())
        largest = std::max(largest, kernel.type(result).shape().elements());
  });
  return largest;
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

class Search {
public:
  explicit Search(const LayoutQuestion &question)
      : question_(question), kernel_(question.kernel), graph_(graphOf(question)),
        chosen_(graph_.clusters.size()) {
    for (const Access &access : graph_.accesses) accesses_[access.site] = access.shape;
  }

  LayoutPlan run() {
    begin();
    constexpr std::int32_t kSweeps = 4; // few kernels need a third
    for (std::int32_t sweep = 0; sweep < kSweeps && improve(); ++sweep) {
    }
    LayoutPlan plan{.threads = question_.threads, .graph = std::move(graph_), .chosen = {}};
    for (auto &choice : chosen_) plan.chosen.push_back(std::move(*choice));
    return plan;
  }

private:
  /// Those that ask for something get it; then the others, neighbours of the decided first.
  void begin() {
    std::vector<size_t> open;
    for (size_t i = 0; i < graph_.clusters.size(); ++i) {
      if (!graph_.clusters[i].candidates.empty())
        chosen_[i] = best(i, true);
      else
        open.push_back(i);
    }
    while (!open.empty()) {
      auto next = std::ranges::find_if(open, [&](size_t i) { return hasDecidedNeighbour(i); });
      if (next == open.end()) next = open.begin();
      const size_t cluster = *next;
      open.erase(next);
      chosen_[cluster] = best(cluster, false);
    }
  }

  bool improve() {
    bool isBetter = false;
    for (size_t i = 0; i < graph_.clusters.size(); ++i) {
      Candidate choice = best(i, false);
      if (choice.layout == chosen_[i]->layout) continue;
      chosen_[i] = std::move(choice);
      isBetter = true;
    }
    return isBetter;
  }

  bool hasDecidedNeighbour(size_t cluster) const {
    return llvm::any_of(graph_.clusters[cluster].edges, [&](size_t edge) {
      return chosen_[neighbour(graph_.edges[edge], cluster)].has_value();
    });
  }

  static size_t neighbour(const Edge &edge, size_t cluster) {
    return edge.from == cluster ? edge.to : edge.from;
  }

  /// The cheapest choice given the neighbours'. Of equally cheap ones the first: what is there,
  /// then what its own ops ask for, then what neighbours have, then what any tile would get.
  Candidate best(size_t cluster, bool isAlone) const {
    std::vector<Candidate> options = optionsOf(cluster, isAlone);
    const Candidate *cheapest = nullptr;
    Cost least = 0;
    for (const Candidate &option : options) {
      const Cost cost =
          ownCost(cluster, option.layout) + (isAlone ? 0 : edgesCost(cluster, option.layout));
      if (cheapest && cost >= least) continue;
      cheapest = &option;
      least = cost;
    }
    return *cheapest;
  }

  std::vector<Candidate> optionsOf(size_t cluster, bool isAlone) const {
    const Cluster &self = graph_.clusters[cluster];
    std::vector<Candidate> options;
    if (chosen_[cluster]) options.push_back(*chosen_[cluster]);
    options.insert(options.end(), self.candidates.begin(), self.candidates.end());
    if (isAlone) return options;
    for (const size_t index : self.edges)
      if (auto option = imageOf(graph_.edges[index], cluster))
        options.push_back(std::move(*option));
    options.push_back({plainLayout(self.shape, question_.threads)});
    return options;
  }

  std::optional<Candidate> imageOf(const Edge &edge, size_t cluster) const {
    const auto &other = chosen_[neighbour(edge, cluster)];
    if (!other) return std::nullopt;
    auto image = edge.to == cluster ? carriedForward(edge, other->layout)
                                    : carriedBackward(edge, other->layout);
    if (!image) return std::nullopt;
    return Candidate{std::move(*image), other->by};
  }

  Cost siteCost(size_t index, const LinearLayout &layout) const {
    const Site &site = graph_.sites[index];
    if (const auto access = accesses_.find(index); access != accesses_.end())
      return accessCost(access->second, layout);
    const Op &op = *site.op;
    const ValueId value = site.uses.empty() ? site.definitions[0] : site.uses[0].value();
    const Type &type = kernel_.type(value);
    Cost cost = static_cast<Cost>(layout::registerCount(layout));
    if (op.kind == OpKind::Reduce)
      cost += combineCost(op, type, layout, op.attrs<ReduceAttrs>().axis);
    if (op.kind == OpKind::Scan) cost += combineCost(op, type, layout, op.attrs<ScanAttrs>().axis);
    if (op.kind == OpKind::Sort) cost += combineCost(op, type, layout, op.attrs<SortAttrs>().axis);
    if (op.kind == OpKind::Dot)
      cost += productCost(layout, kernel_.type(op.operand(0)).shape().extents().back());
    return cost;
  }

  Cost ownCost(size_t cluster, const LinearLayout &layout) const {
    Cost cost = 0;
    for (const size_t site : graph_.clusters[cluster].sites)
      cost += graph_.frequencies[site] * siteCost(site, layout);
    return cost;
  }

  bool isLeafOf(size_t leaf, size_t cluster) const {
    return leaf != cluster && llvm::all_of(graph_.clusters[leaf].edges, [&](size_t edge) {
             return neighbour(graph_.edges[edge], leaf) == cluster;
           });
  }

  /// Of the edges to decided neighbours. A neighbour without others may still follow, or not.
  Cost edgesCost(size_t cluster, const LinearLayout &layout) const {
    Cost cost = 0;
    llvm::SmallVector<size_t, 4> leaves;
    for (const size_t index : graph_.clusters[cluster].edges) {
      const Edge &edge = graph_.edges[index];
      const size_t other = neighbour(edge, cluster);
      if (other == cluster) {
        cost += edgeCost(kernel_, edge, layout, layout);
      } else if (isLeafOf(other, cluster)) {
        if (chosen_[other] && !llvm::is_contained(leaves, other)) leaves.push_back(other);
      } else if (chosen_[other]) {
        cost += costBetween(edge, cluster, layout, chosen_[other]->layout);
      }
    }
    for (const size_t leaf : leaves) cost += leafCost(leaf, cluster, layout);
    return cost;
  }

  Cost costBetween(const Edge &edge, size_t cluster, const LinearLayout &own,
                   const LinearLayout &other) const {
    return edge.from == cluster ? edgeCost(kernel_, edge, own, other)
                                : edgeCost(kernel_, edge, other, own);
  }

  Cost leafCost(size_t leaf, size_t cluster, const LinearLayout &layout) const {
    std::vector<LinearLayout> options{chosen_[leaf]->layout};
    for (const size_t index : graph_.clusters[leaf].edges) {
      const Edge &edge = graph_.edges[index];
      const auto image =
          edge.from == cluster ? carriedForward(edge, layout) : carriedBackward(edge, layout);
      if (image) options.push_back(*image);
    }
    Cost least = 0;
    for (size_t i = 0; i < options.size(); ++i) {
      Cost cost = ownCost(leaf, options[i]);
      for (const size_t edge : graph_.clusters[leaf].edges)
        cost += costBetween(graph_.edges[edge], leaf, options[i], layout);
      if (i == 0 || cost < least) least = cost;
    }
    return least;
  }

  const LayoutQuestion &question_;
  const Kernel &kernel_;
  LayoutGraph graph_;
  std::vector<std::optional<Candidate>> chosen_; // by cluster; none: not decided yet
  llvm::DenseMap<size_t, AccessShape> accesses_; // by site
};

} // namespace

layout::Threads chooseThreads(const Kernel &kernel, const machine::Machine &machine) {
  const std::int32_t lanes = std::max(machine.warpSize, 1);
  const std::int32_t most = std::max(std::min(kMostThreads, machine.maxThreads) / lanes, 1);
  const std::int64_t wanted = largestTile(kernel) / (lanes * kElementsPerThread);
  const auto warps = static_cast<std::uint64_t>(std::clamp<std::int64_t>(wanted, 1, most));
  return {.lanes = lanes, .warps = static_cast<std::int32_t>(llvm::bit_ceil(warps))};
}

LayoutPlan planLayouts(const LayoutQuestion &question) { return Search(question).run(); }

LinearLayout plainLayout(const Shape &shape, layout::Threads threads) {
  constexpr std::int64_t kVector = 4;
  llvm::SmallVector<std::int32_t, 5> order;
  for (std::int32_t axis = shape.rank(); axis-- > 0;) order.push_back(axis);
  return rowLayout(shape, threads, kVector, order);
}

Cost edgeCost(const Kernel &kernel, const Edge &edge, const LinearLayout &from,
              const LinearLayout &to) {
  const LinearLayout held = edge.reducedAxis ? layout::withoutAxis(from, *edge.reducedAxis) : from;
  const LinearLayout wanted = edge.movement ? operandLayout(*edge.movement, to) : to;
  if (wanted == held) return 0;
  constexpr Cost kOddity = 1; // of two layouts for one tile, even where nothing has to move
  return edge.frequency * (kOddity + conversionCost(kernel.type(edge.value), held, wanted));
}

} // namespace imbrex::passes::layouts
