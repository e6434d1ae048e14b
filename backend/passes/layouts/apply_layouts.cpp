#include "backend/passes/layouts/layout_plan.h"
#include "backend/support/check.h"
#include "llvm/ADT/DenseMap.h"

#include <utility>

namespace imbrex::passes::layouts {
namespace {

using namespace ir;

class Applier {
public:
  explicit Applier(Kernel &kernel) : kernel_(&kernel) {}

  void apply(const LayoutPlan &plan) {
    kernel_->setThreads(plan.threads);
    for (size_t i = 0; i < plan.sites.size(); ++i) define(plan.sites[i], plan.layouts[i]);
    for (size_t i = 0; i < plan.sites.size(); ++i)
      for (const Use &use : plan.sites[i].uses)
        use.op->operands[use.operand] = in(use.value(), kernel_->addLayout(plan.layouts[i]));
    place(kernel_->body());
  }

private:
  struct Converted {
    LayoutId layout;
    ValueId value;
  };

  void define(const Site &site, const layout::LinearLayout &layout) {
    const LayoutId id = kernel_->addLayout(layout);
    for (const ValueId value : site.definitions) kernel_->setLayout(value, id);
    if (site.reduced.empty()) return;
    const LayoutId rest =
        kernel_->addLayout(layout::withoutAxis(layout, site.op->attrs<ReduceAttrs>().axis));
    for (const ValueId value : site.reduced) kernel_->setLayout(value, rest);
  }

  /// The value in this layout.
  ValueId in(ValueId value, LayoutId layout) {
    IMBREX_CHECK(kernel_->layoutOf(value).valid(), "a tile has no layout");
    if (kernel_->layoutOf(value) == layout) return value;
    auto &others = converted_[value.index()];
    for (const Converted &other : others)
      if (other.layout == layout) return other.value;
    const ValueId result = kernel_->newValue(kernel_->type(value));
    kernel_->setLayout(result, layout);
    others.push_back({layout, result});
    return result;
  }

  void place(Block &block) {
    auto ops = std::exchange(block.ops, {});
    for (const ValueId argument : block.arguments) convert(argument, block, {});
    for (auto &op : ops) {
      for (Block &region : op->regions) place(region);
      const Op &placed = *block.ops.emplace_back(std::move(op));
      for (const ValueId result : placed.results) convert(result, block, placed.where);
    }
  }

  void convert(ValueId value, Block &block, Location where) {
    const auto found = converted_.find(value.index());
    if (found == converted_.end()) return;
    for (const Converted &other : found->second) {
      auto op = std::make_unique<Op>();
      op->kind = OpKind::ConvertLayout;
      op->operands = {value};
      op->results = {other.value};
      op->where = where;
      kernel_->setDefinition(other.value, op.get());
      block.ops.push_back(std::move(op));
    }
  }

  Kernel *kernel_;
  llvm::DenseMap<std::uint32_t, llvm::SmallVector<Converted, 1>> converted_; // by value number
};

} // namespace

void applyLayouts(Kernel &kernel, const LayoutPlan &plan) { Applier(kernel).apply(plan); }

} // namespace imbrex::passes::layouts
