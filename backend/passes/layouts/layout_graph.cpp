#include "backend/passes/layouts/layout_graph.h"

#include "backend/analysis/matrix_product.h"
#include "backend/analysis/names_in_products.h"
#include "backend/analysis/operand_sources.h"
#include "backend/analysis/slabs.h"
#include "backend/ir/products.h"
#include "backend/layout/bank_conflicts.h"
#include "backend/passes/layouts/candidates.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace imbrex::passes::layouts {
namespace {

using namespace ir;
using layout::LinearLayout;

// How often a body runs for each time that its loop is met, for want of knowing.
constexpr Cost kTrips = 8;
constexpr std::int32_t kDeepest = 6; // beyond it all loops count alike

bool isAccess(const Op &op) {
  // Not a switch: of all the ops only these touch memory.
  return op.kind == OpKind::Load || op.kind == OpKind::Store || op.kind == OpKind::ViewLoad ||
         op.kind == OpKind::ViewStore || op.kind == OpKind::AtomicRmw ||
         op.kind == OpKind::AtomicCas;
}

bool standsAlone(const Op &op) { return isAccess(op) || op.kind == OpKind::Sort || isOnUnit(op); }

/// Whether two edges cost alike in all layouts. Which half of its operand a move takes is no
/// matter.
bool costAlike(const Edge &a, const Edge &b) {
  if (a.type != b.type || a.reducedAxis != b.reducedAxis || a.slot != b.slot ||
      a.movement.has_value() != b.movement.has_value())
    return false;
  return !a.movement ||
         (a.movement->result == b.movement->result && a.movement->operand == b.movement->operand &&
          a.movement->bits == b.movement->bits);
}

/// Row-major, but this axis first.
llvm::SmallVector<std::int32_t, 5> orderFrom(std::int32_t axis, std::int32_t rank) {
  llvm::SmallVector<std::int32_t, 5> order{axis};
  for (std::int32_t other = rank; other-- > 0;)
    if (other != axis) order.push_back(other);
  return order;
}

/// Where it has two slots at least.
bool isPipelined(const LayoutQuestion &question, const Op &op) {
  constexpr std::int32_t kOneSlot = 1;
  return op.kind == OpKind::For && op.attrs<ForAttrs>().pipelined != 0 &&
         op.attrs<ForAttrs>().pipelined != kOneSlot && question.machine.asyncCopies.leastBytes > 0;
}

const Shape &shapeOfTile(const Kernel &kernel, const Op &op) {
  return kernel.type(op.kind == OpKind::ViewLoad ? op.result() : op.operand(1)).shape();
}

/// As if each element were loaded or stored by itself.
AccessShape narrowAccessOf(const LayoutQuestion &question, const Op &op, std::int32_t rank) {
  const bool isView = op.kind == OpKind::ViewLoad || op.kind == OpKind::ViewStore;
  AccessShape access{.axis = rank - 1, .contiguity = 1, .width = 1, .bits = 8};
  const Type &memory = question.kernel.type(op.operand(0));
  access.bits = storageBits(memory.element());
  if (isView) {
    if (question.assumptions.of(question.kernel, op.operand(0)).hasUnitStride)
      access.contiguity = shapeOfTile(question.kernel, op).extents().back();
  } else {
    const analysis::AxisInfo &facts = question.facts.of(op.operand(0));
    for (std::int32_t axis = rank; axis-- > 0;)
      if (const auto &along = facts[static_cast<size_t>(axis)];
          along.contiguity > access.contiguity) {
        access.axis = axis;
        access.contiguity = along.contiguity;
      }
  }
  return access;
}

/// Of a site: the access of its op.
SiteAccess accessOf(const LayoutQuestion &question, const Op &op, size_t site, std::int32_t rank) {
  AccessShape shape = narrowAccessOf(question, op, rank);
  const bool isAtomic = op.kind == OpKind::AtomicRmw || op.kind == OpKind::AtomicCas;
  if (isAtomic) return {site, shape, analysis::WidthLimit::Contiguity};
  const auto bound =
      analysis::accessBound(question.kernel, op, shape.axis, question.facts, question.assumptions);
  shape.width = bound.elements;
  return {site, shape, bound.limit};
}

/// Of a product on a unit.
LinearLayout sumsOf(const LayoutQuestion &question, const Op &dot) {
  return analysis::sumsOf(*analysis::unitOf(question.kernel, dot, question.machine), unitAttrs(dot),
                          question.kernel.type(dot.result()).shape(), question.threads);
}

Rows rowsOf(const AccessShape &access, const Shape &shape) {
  const std::int64_t most = std::max<std::int64_t>(8 * 16 / access.bits, 1);
  return {.order = orderFrom(access.axis, shape.rank()), .vector = std::min(access.width, most)};
}

/// Warps side by side have the same fragments, so that a thread may have more of a tile than its
/// share, and more than it has registers.
bool fitRegisters(const machine::Machine &machine, const Fragments &fragments) {
  const std::int64_t limit = machine.maxRegistersPerThread;
  const std::int64_t elements = std::int64_t{1}
                                << fragments.places.inputBits(layout::Dim::Register);
  return limit == 0 || elements <= limit;
}

class GraphBuilder {
public:
  explicit GraphBuilder(const LayoutQuestion &question)
      : question_(question), kernel_(question.kernel), recomputable_(question.kernel) {
    graph_.sites = sitesOf(kernel_);
    countTrips(kernel_.body(), 0);
    siteOf_.resize(kernel_.valueCount(), kNoSite);
    for (size_t i = 0; i < graph_.sites.size(); ++i) index(i);
  }

  LayoutGraph build() {
    llvm::EquivalenceClasses<size_t> same;
    for (size_t i = 0; i < graph_.sites.size(); ++i) {
      if (isRecomputed(graph_.sites[i])) continue;
      same.insert(i);
      for (const Use &use : graph_.sites[i].uses)
        if (const auto from = sourceOf(use.value()); from && isJoined(use.value(), *from, i))
          same.unionSets(*from, i);
    }
    makeClusters(same);
    findSlots();
    for (size_t i = 0; i < graph_.sites.size(); ++i) {
      if (graph_.clusterOf[i] == LayoutGraph::kNoCluster) continue;
      connectUses(i);
      propose(i);
      addWork(graph_.clusters[graph_.clusterOf[i]], workOf(i), *graph_.sites[i].op);
    }
    walk(kernel_.body(), [&](const Op &op) {
      connectMovement(op);
      if (isProduct(op))
        for (const size_t operand : {0, 1}) proposeSlabs(op, operand);
      if (op.kind == OpKind::Dot && isOnUnit(op)) proposeFragments(op);
      if (op.kind == OpKind::DotScaled && isOnUnit(op)) proposeScales(op);
    });
    return std::move(graph_);
  }

private:
  static constexpr size_t kNoSite = static_cast<size_t>(-1);

  void countTrips(const Block &block, std::int32_t depth) {
    for (const auto &op : block.ops) {
      depths_[op.get()] = depth;
      const bool isLoop = op->kind == OpKind::For || op->kind == OpKind::While;
      for (const Block &region : op->regions) countTrips(region, depth + (isLoop ? 1 : 0));
      if (isPipelined(question_, *op))
        for (const auto &inner : op->regions[0].ops) isInPipelined_.insert(inner.get());
    }
  }

  /// What products alone want of a pipelined loop's loads they read in slots: the registers that
  /// fill one suit memory alone.
  bool fillsSlot(const Op &load) const {
    return isInPipelined_.contains(&load) &&
           analysis::namesInProducts(kernel_, load.result()).has_value();
  }

  Cost frequencyOf(const Op &op) const {
    return std::pow(kTrips, std::min(depths_.lookup(&op), kDeepest));
  }

  /// A conversion stands behind the definition, which for what a loop carries is in its body.
  Cost frequencyOf(ValueId value, size_t site) const {
    const Op *op = kernel_.definition(value);
    return op ? frequencyOf(*op) : frequencyOf(*graph_.sites[site].op) * kTrips;
  }

  void index(size_t site) {
    for (const ValueId value : graph_.sites[site].definitions) siteOf_[value.index()] = site;
    for (const ValueId value : graph_.sites[site].reduced) siteOf_[value.index()] = site;
  }

  bool isRecomputed(const LayoutSite &site) const {
    return !site.definitions.empty() && recomputable_.contains(site.definitions.front());
  }

  std::optional<size_t> sourceOf(ValueId value) const {
    if (recomputable_.contains(value) || siteOf_[value.index()] == kNoSite) return std::nullopt;
    return siteOf_[value.index()];
  }

  bool isReduced(ValueId value, size_t site) const {
    return llvm::is_contained(graph_.sites[site].reduced, value);
  }

  /// Whether a value's definition and a use of it are to be one cluster.
  bool isJoined(ValueId value, size_t from, size_t to) const {
    return !isReduced(value, from) && !standsAlone(*graph_.sites[from].op) &&
           !standsAlone(*graph_.sites[to].op);
  }

  void makeClusters(const llvm::EquivalenceClasses<size_t> &same) {
    llvm::DenseMap<size_t, size_t> clusterOfLeader;
    graph_.clusterOf.resize(graph_.sites.size(), LayoutGraph::kNoCluster);
    for (size_t i = 0; i < graph_.sites.size(); ++i) {
      if (isRecomputed(graph_.sites[i])) continue;
      const auto [entry, isNew] =
          clusterOfLeader.try_emplace(same.getLeaderValue(i), graph_.clusters.size());
      if (isNew) graph_.clusters.push_back({.shape = shapeOf(kernel_, graph_.sites[i])});
      graph_.clusterOf[i] = entry->second;
    }
  }

  void connect(Edge edge) {
    if (edge.from == edge.to && !edge.movement && !edge.reducedAxis) return;
    auto &others = edgesBetween_[{edge.from, edge.to}];
    const auto *const same =
        llvm::find_if(others, [&](size_t other) { return costAlike(graph_.edges[other], edge); });
    if (same != others.end()) {
      graph_.edges[*same].frequency += edge.frequency;
      return;
    }
    others.push_back(graph_.edges.size());
    for (const size_t cluster : {edge.from, edge.to}) {
      auto &edges = graph_.clusters[cluster].edges;
      if (edges.empty() || edges.back() != graph_.edges.size())
        edges.push_back(graph_.edges.size());
    }
    graph_.edges.push_back(std::move(edge));
  }

  /// An edge from a value's definition, still without the other end.
  std::optional<Edge> edgeFrom(ValueId value) const {
    const auto site = sourceOf(value);
    if (!site) return std::nullopt;
    Edge edge{.from = graph_.clusterOf[*site], .to = 0, .type = kernel_.type(value)};
    if (const auto slot = slots_.find(graph_.sites[*site].op); slot != slots_.end())
      edge.slot = slot->second;
    if (isReduced(value, *site))
      edge.reducedAxis = graph_.sites[*site].op->attrs<ReduceAttrs>().axis;
    edge.frequency = frequencyOf(value, *site);
    return edge;
  }

  void connectUses(size_t site) {
    for (const Use &use : graph_.sites[site].uses)
      if (auto edge = edgeFrom(use.value())) {
        edge->to = graph_.clusterOf[site];
        connect(std::move(*edge));
      }
  }

  void connectMovement(const Op &op) {
    for (size_t result = 0; result < op.results.size(); ++result)
      for (size_t operand = 0; operand < op.operands.size(); ++operand) {
        const auto to = sourceOf(op.result(result));
        auto movement = to && kernel_.type(op.operand(operand)).rank() > 0
                            ? analysis::movementOf(kernel_, op, operand, result)
                            : std::nullopt;
        auto edge = movement ? edgeFrom(op.operand(operand)) : std::nullopt;
        if (!edge) continue;
        edge->to = graph_.clusterOf[*to];
        edge->movement = std::move(movement);
        connect(std::move(*edge));
      }
  }

  // --- candidates ---

  void propose(size_t site) {
    const Op &op = *graph_.sites[site].op;
    Cluster &cluster = graph_.clusters[graph_.clusterOf[site]];
    const Shape &shape = cluster.shape;
    if (isAccess(op)) {
      graph_.accesses.push_back(accessOf(question_, op, site, shape.rank()));
      const Rows rows = rowsOf(graph_.accesses.back().shape, shape);
      cluster.candidates.push_back({rowLayout(shape, question_.threads, rows), &op});
    } else if (isOnUnit(op)) {
      cluster.candidates.push_back({sumsOf(question_, op), &op});
      cluster.isFixed = true;
    } else if (isProduct(op)) {
      cluster.candidates.push_back({productLayout(shape, question_.threads), &op});
    } else if (op.kind == OpKind::Sort) {
      const Rows rows{.order = orderFrom(op.attrs<SortAttrs>().axis, shape.rank())};
      cluster.candidates.push_back({rowLayout(shape, question_.threads, rows), &op});
    }
  }

  /// What a product reads is stored slab by slab; here without knowing of rings, which leave less
  /// room. Only what comes from memory as it is has such a layout to choose, for it costs nothing
  /// there.
  void proposeSlabs(const Op &op, size_t operand) {
    const auto site = sourceOf(op.operand(operand));
    if (!site || !isAccess(*graph_.sites[*site].op)) return;
    if (fillsSlot(*graph_.sites[*site].op)) return;
    Cluster &cluster = graph_.clusters[graph_.clusterOf[*site]];
    const SlabExtent slab{
        .axis = depthAxis(kernel_, op, operand),
        .depth = analysis::depthOfSlab(kernel_, op, question_.machine.staticSharedMemoryBytes) /
                 depthOfElement(kernel_, op, operand)};
    addWork(cluster, {.axis = slab.axis, .slab = slab.depth}, op);
    Rows rows = rowsOf(cluster.works.front().work.access.value(), cluster.shape);
    rows.slab = slab;
    cluster.candidates.push_back({rowLayout(cluster.shape, question_.threads, rows), &op});
  }

  // --- operands that are computed ---

  /// Whether a load will run ahead into slots, as far as is known before it is laid out.
  bool mayFillSlot(const Op &load) const {
    if (!isInPipelined_.contains(&load)) return false;
    const Type &tile = kernel_.type(load.result());
    if (tile.rank() == 0 || !tile.isTile() || sharesByte(tile.element())) return false;
    const AccessShape shape =
        accessOf(question_, load, *sourceOf(load.result()), tile.rank()).shape;
    const std::int64_t ofThread = tile.shape().elements() / question_.threads.count();
    return std::min(shape.width, ofThread) * shape.bits / 8 >=
           question_.machine.asyncCopies.leastBytes;
  }

  /// What operands of products are computed from can be read from slots as the products want it.
  void findSlots() {
    walk(kernel_.body(), [&](const Op &op) {
      if (op.kind != OpKind::Dot || !isOnUnit(op)) return;
      for (const size_t operand : {0, 1})
        if (const auto loads = analysis::sourcesOf(kernel_, op.operand(operand)))
          for (const Op *load : *loads) findSlot(*load);
    });
  }

  void findSlot(const Op &load) {
    if (const auto site = sourceOf(load.result()))
      graph_.clusters[graph_.clusterOf[*site]].loadsWords = true;
    if (!mayFillSlot(load)) return;
    AccessShape filled = narrowAccessOf(question_, load, kernel_.type(load.result()).rank());
    filled.width = layout::kMaxAccessBytes * 8 / filled.bits;
    slots_[&load] = filled;
  }

  /// What is computed had best be so where it is multiplied.
  void proposeFragments(const Op &dot) {
    const LinearLayout sums = sumsOf(question_, dot);
    for (const size_t operand : {0, 1}) {
      const ValueId tile = dot.operand(operand);
      const auto site = sourceOf(tile);
      if (!site || !analysis::sourcesOf(kernel_, tile)) continue;
      const Fragments fragments = fragmentsOf(kernel_, dot, operand, question_.machine, sums);
      if (!fitRegisters(question_.machine, fragments)) continue;
      Cluster &cluster = graph_.clusters[graph_.clusterOf[*site]];
      cluster.candidates.push_back({computedLayout(kernel_, dot, fragments), &dot});
      addWork(cluster, {.type = kernel_.type(tile), .fragments = fragments}, dot);
    }
  }

  /// Scales that no slot takes can be loaded by the lanes that the unit reads them from.
  void proposeScales(const Op &dot) {
    const LinearLayout sums = sumsOf(question_, dot);
    for (const size_t operand : {0, 1}) {
      const auto scale = scaleOf(dot, operand);
      const auto site = scale ? sourceOf(dot.operand(*scale)) : std::nullopt;
      if (!site) continue;
      const Op &made = *graph_.sites[*site].op;
      if (isLoad(made) && mayFillSlot(made)) continue;
      const Fragments fragments = fragmentsOf(kernel_, dot, *scale, question_.machine, sums);
      Cluster &cluster = graph_.clusters[graph_.clusterOf[*site]];
      cluster.candidates.push_back({fragments.places, &dot});
      addWork(cluster, {.type = kernel_.type(dot.operand(*scale)), .fragments = fragments}, dot);
    }
  }

  // --- work ---

  TileWork workOf(size_t site) const {
    const Op &op = *graph_.sites[site].op;
    const auto combination = [&](std::int32_t axis) {
      return TileWork{.combination = op.kind, .type = kernel_.type(op.operand(0)), .axis = axis};
    };
    // Not a switch: all other ops do but one thing with each element.
    if (isAccess(op)) return {.access = graph_.accesses.back().shape}; // as just proposed
    if (op.kind == OpKind::Reduce) return combination(op.attrs<ReduceAttrs>().axis);
    if (op.kind == OpKind::Scan) return combination(op.attrs<ScanAttrs>().axis);
    if (op.kind == OpKind::Sort) return combination(op.attrs<SortAttrs>().axis);
    if (isProduct(op)) return {.depth = depthOf(kernel_, op)};
    return {};
  }

  /// As often as the op is done.
  void addWork(Cluster &cluster, const TileWork &work, const Op &op) const {
    auto *const same =
        llvm::find_if(cluster.works, [&](const RepeatedWork &other) { return other.work == work; });
    if (same == cluster.works.end())
      cluster.works.push_back({work, frequencyOf(op)});
    else
      same->frequency += frequencyOf(op);
  }

  const LayoutQuestion &question_;
  Kernel &kernel_;
  Recomputable recomputable_;
  LayoutGraph graph_;
  std::vector<size_t> siteOf_; // by value number
  llvm::DenseMap<const Op *, std::int32_t> depths_;
  llvm::DenseSet<const Op *> isInPipelined_;      // in its body, but in no other op's
  llvm::DenseMap<const Op *, AccessShape> slots_; // of loads: how they are filled
  llvm::DenseMap<std::pair<size_t, size_t>, llvm::SmallVector<size_t, 1>> edgesBetween_;
};

} // namespace

LayoutGraph graphOf(const LayoutQuestion &question) { return GraphBuilder(question).build(); }

} // namespace imbrex::passes::layouts
