#include "backend/passes/layouts/layout_plan.h"
#include "backend/support/check.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <utility>

namespace imbrex::passes::layouts {
namespace {

using namespace ir;
using layout::LinearLayout;

// What one round of a loop in a division may take.
constexpr Cost kDivision = 20;

Cost costOf(const Op &op) {
  return isDivision(op.kind) ? kDivision : op.kind == OpKind::Constant ? 0 : 1;
}

class LayoutApplier {
public:
  LayoutApplier(Kernel &kernel, const LayoutPlan &plan)
      : kernel_(&kernel), plan_(plan), recomputable_(kernel) {}

  void apply() {
    const LayoutGraph &graph = plan_.graph;
    kernel_->setThreads(plan_.threads);
    for (size_t i = 0; i < graph.sites.size(); ++i)
      if (const LinearLayout *layout = layoutOf(i)) define(graph.sites[i], *layout);
    for (size_t i = 0; i < graph.sites.size(); ++i)
      if (const LinearLayout *layout = layoutOf(i)) serve(graph.sites[i], *layout);
    walk(kernel_->body(), [&](Op &op) { serveMovement(op); });
    for (size_t i = 0; i < graph.sites.size(); ++i)
      if (!layoutOf(i)) settle(graph.sites[i].definitions.front());
    place(kernel_->body());
  }

private:
  /// A tile in another layout than its definition gives.
  struct Version {
    LayoutId layout;
    ValueId value;
    std::unique_ptr<Op> op; // that makes it
  };

  /// Null where all that the site defines is recomputed for its users.
  const LinearLayout *layoutOf(size_t site) const {
    const size_t cluster = plan_.graph.clusterOf[site];
    return cluster == LayoutGraph::kNoCluster ? nullptr : &plan_.chosen[cluster].layout;
  }

  void define(const LayoutSite &site, const LinearLayout &layout) {
    const LayoutId id = kernel_->addLayout(layout);
    for (const ValueId value : site.definitions) kernel_->setLayout(value, id);
    if (site.reduced.empty()) return;
    const LayoutId rest =
        kernel_->addLayout(layout::withoutAxis(layout, site.op->attrs<ReduceAttrs>().axis));
    for (const ValueId value : site.reduced) kernel_->setLayout(value, rest);
  }

  void serve(const LayoutSite &site, const LinearLayout &layout) {
    const LayoutId id = kernel_->addLayout(layout);
    for (const Use &use : site.uses) use.op->operands[use.operand] = in(use.value(), id);
  }

  /// What an op moves within threads alone it gets held so that this is enough: then conversions
  /// are all that crosses threads. A flip crosses them by itself, and a join lets each thread
  /// choose.
  void serveMovement(Op &op) {
    if (op.kind == OpKind::Flip || op.kind == OpKind::Join || op.results.empty()) return;
    const LayoutId result = kernel_->layoutOf(op.result());
    const auto movement =
        result.valid() && op.operands.size() == 1 && kernel_->type(op.operand(0)).rank() > 0
            ? analysis::movementOf(*kernel_, op, 0, 0)
            : std::nullopt;
    if (!movement) return;
    const LinearLayout wanted = operandLayout(*movement, kernel_->layout(result));
    const LayoutId held = kernel_->layoutOf(op.operand(0));
    if (!held.valid() || conversionPath(kernel_->layout(held), wanted) != ConversionPath::Stay)
      op.operands[0] = in(op.operand(0), kernel_->addLayout(wanted));
  }

  /// What nobody wants in a layout of its own.
  void settle(ValueId value) {
    if (kernel_->layoutOf(value).valid()) return;
    const Shape &shape = kernel_->type(value).shape();
    in(value, kernel_->addLayout(plainLayout(shape, plan_.threads)));
  }

  /// What a version is a version of.
  ValueId original(ValueId value) const {
    const auto found = originals_.find(value.index());
    return found == originals_.end() ? value : found->second;
  }

  /// The tile in this layout. The first to ask for a recomputable tile decides how it is held.
  ValueId in(ValueId value, LayoutId layout) {
    value = original(value);
    if (kernel_->layoutOf(value) == layout) return value;
    if (!kernel_->layoutOf(value).valid()) {
      IMBREX_CHECK(recomputable_.contains(value), "a tile has no layout");
      kernel_->setLayout(value, layout);
      adapt(*kernel_->definition(value), layout);
      return value;
    }
    if (const Version *known = find(value, layout)) return known->value;
    const ValueId result = kernel_->newValue(kernel_->type(value));
    kernel_->setLayout(result, layout);
    std::unique_ptr<Op> op =
        isCheaplyRecomputed(value, layout) ? recomputed(value, layout) : converted(value);
    op->results = {result};
    kernel_->setDefinition(result, op.get());
    originals_[result.index()] = value;
    versions_[value.index()].push_back({layout, result, std::move(op)});
    return result;
  }

  const Version *find(ValueId value, LayoutId layout) const {
    const auto found = versions_.find(value.index());
    if (found == versions_.end()) return nullptr;
    const auto version =
        llvm::find_if(found->second, [&](const Version &other) { return other.layout == layout; });
    return version == found->second.end() ? nullptr : &*version;
  }

  /// Give an op that computes its result in this layout its operands in layouts that fit.
  void adapt(Op &op, LayoutId layout) {
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (kernel_->type(op.operand(i)).rank() > 0)
        op.operands[i] = in(op.operand(i), operandIn(op, i, layout));
  }

  LayoutId operandIn(const Op &op, size_t operand, LayoutId layout) {
    const auto movement = analysis::movementOf(*kernel_, op, operand, 0);
    if (!movement) return layout;
    return kernel_->addLayout(operandLayout(*movement, kernel_->layout(layout)));
  }

  std::unique_ptr<Op> recomputed(ValueId value, LayoutId layout) {
    const Op &from = *kernel_->definition(value);
    auto op = std::make_unique<Op>();
    op->kind = from.kind;
    op->operands = from.operands;
    op->results = from.results; // for the shapes; replaced by the caller
    op->attributes = from.attributes;
    op->where = from.where;
    adapt(*op, layout);
    return op;
  }

  std::unique_ptr<Op> converted(ValueId value) const {
    auto op = std::make_unique<Op>();
    op->kind = OpKind::ConvertLayout;
    op->operands = {value};
    if (const Op *from = kernel_->definition(value)) op->where = from->where;
    return op;
  }

  /// Whether to compute a tile once more costs less than to convert it.
  bool isCheaplyRecomputed(ValueId value, LayoutId layout) {
    if (!recomputable_.contains(value)) return false;
    const LinearLayout &wanted = kernel_->layout(layout);
    const Cost most =
        conversionCost(kernel_->type(value), kernel_->layout(kernel_->layoutOf(value)), wanted);
    llvm::SmallVector<std::pair<ValueId, LayoutId>, 16> seen{{value, layout}};
    Cost cost = 0;
    for (size_t i = 0; i < seen.size() && cost <= most; ++i) {
      const auto [tile, as] = seen[i];
      if (kernel_->layoutOf(tile) == as || find(tile, as)) continue;
      const Op &op = *kernel_->definition(tile);
      cost += costOf(op) * static_cast<Cost>(layout::registerCount(kernel_->layout(as)));
      for (size_t operand = 0; operand < op.operands.size(); ++operand) {
        if (kernel_->type(op.operand(operand)).rank() == 0) continue;
        const std::pair next{original(op.operand(operand)), operandIn(op, operand, as)};
        if (!llvm::is_contained(seen, next)) seen.push_back(next);
      }
    }
    return cost <= most;
  }

  void place(Block &block) {
    auto ops = std::exchange(block.ops, {});
    for (const ValueId argument : block.arguments) placeVersions(argument, block);
    for (auto &op : ops) {
      for (Block &region : op->regions) place(region);
      const Op &placed = *block.ops.emplace_back(std::move(op));
      for (const ValueId result : placed.results) placeVersions(result, block);
    }
  }

  void placeVersions(ValueId value, Block &block) {
    const auto found = versions_.find(value.index());
    if (found == versions_.end()) return;
    for (Version &version : found->second) block.ops.push_back(std::move(version.op));
  }

  Kernel *kernel_;
  const LayoutPlan &plan_;
  Recomputable recomputable_;
  llvm::DenseMap<std::uint32_t, std::vector<Version>> versions_; // by value number
  llvm::DenseMap<std::uint32_t, ValueId> originals_;             // of versions
};

} // namespace

void applyLayouts(Kernel &kernel, const LayoutPlan &plan) { LayoutApplier(kernel, plan).apply(); }

} // namespace imbrex::passes::layouts
