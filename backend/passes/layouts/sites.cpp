#include "backend/passes/layouts/sites.h"

#include "backend/passes/rewriting.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::passes::layouts {
namespace {

using namespace ir;

bool hasLayout(const Type &type) { return type.isTileOrPointers() && type.rank() > 0; }

class Collector {
public:
  explicit Collector(Kernel &kernel) : kernel_(&kernel) {}

  /// `loop`: what a break_if in the block leaves.
  void collect(Block &block, Op *loop) {
    for (const auto &op : block.ops) {
      collect(*op, loop);
      if (isReduction(*op)) continue;
      for (Block &region : op->regions) collect(region, isLoop(*op) ? op.get() : loop);
    }
  }

  std::vector<LayoutSite> take() {
    llvm::erase_if(sites_, [](const LayoutSite &site) {
      return site.definitions.empty() && site.uses.empty() && site.reduced.empty();
    });
    return std::move(sites_);
  }

private:
  static bool isReduction(const Op &op) {
    return op.kind == OpKind::Reduce || op.kind == OpKind::Scan;
  }

  void define(LayoutSite &site, ValueId value) {
    if (hasLayout(kernel_->type(value))) site.definitions.push_back(value);
  }

  void use(LayoutSite &site, Op &op, size_t operand) {
    if (hasLayout(kernel_->type(op.operand(operand)))) site.uses.push_back({&op, operand});
  }

  LayoutSite &add(Op &op) { return sites_.emplace_back(LayoutSite{.op = &op}); }

  /// All tiles of the op alike.
  void together(Op &op) {
    LayoutSite &site = add(op);
    for (const ValueId result : op.results) define(site, result);
    for (size_t i = 0; i < op.operands.size(); ++i) use(site, op, i);
  }

  /// The results, and only some of the operands.
  void resultsWith(Op &op, llvm::ArrayRef<size_t> operands) {
    LayoutSite &site = add(op);
    for (const ValueId result : op.results) define(site, result);
    for (const size_t operand : operands) use(site, op, operand);
  }

  /// Each result by itself; the operands as they come.
  void apart(Op &op) {
    for (const ValueId result : op.results) define(add(op), result);
  }

  /// The operands alike, and each result by itself.
  void operandsTogether(Op &op) {
    LayoutSite &site = add(op);
    for (size_t i = 0; i < op.operands.size(); ++i) use(site, op, i);
    apart(op);
  }

  void reduction(Op &op) {
    LayoutSite &site = add(op);
    for (size_t i = 0; i < op.operands.size(); ++i) use(site, op, i);
    for (const ValueId result : op.results)
      if (hasLayout(kernel_->type(result))) site.reduced.push_back(result);
  }

  void loop(Op &op) {
    slots_[&op] = sites_.size();
    for (size_t slot = 0; slot < op.results.size(); ++slot) {
      LayoutSite &site = add(op);
      define(site, op.regions.front().arguments[firstCarriedArgument(op) + slot]);
      define(site, op.result(slot));
      use(site, op, firstCarriedOperand(op) + slot);
      use(site, yieldOf(op.regions.front()), slot);
    }
  }

  void choice(Op &op) {
    for (size_t slot = 0; slot < op.results.size(); ++slot) {
      LayoutSite &site = add(op);
      define(site, op.result(slot));
      for (Block &region : op.regions) use(site, yieldOf(region), slot);
    }
  }

  void leave(Op &op, Op &from) {
    for (size_t slot = 0; slot < from.results.size(); ++slot)
      use(sites_[slots_.lookup(&from) + slot], op, 1 + slot);
  }

  void collect(Op &op, Op *inside) {
    switch (info(op.kind).typeRule) {
#define IMBREX_TYPE_RULE(...)
#define IMBREX_ALIKE(Rule) case TypeRule::Rule:
#include "backend/ir/type_rules.def"
      return together(op);
#define IMBREX_TYPE_RULE(...)
#define IMBREX_APART(Rule) case TypeRule::Rule:
#include "backend/ir/type_rules.def"
      return apart(op);
    case TypeRule::Bitcast: return sameShape(op) ? together(op) : apart(op);
    case TypeRule::Reduce: return reduction(op);
    case TypeRule::Gather: return resultsWith(op, {1});
    case TypeRule::Dot:
    case TypeRule::DotScaled: return resultsWith(op, {2});
    case TypeRule::ViewStore: return resultsWith(op, {1});
    case TypeRule::Histogram: return operandsTogether(op);
    case TypeRule::For:
    case TypeRule::While: return loop(op);
    case TypeRule::If: return choice(op);
    case TypeRule::BreakIf: return leave(op, *inside);
    case TypeRule::Yield: // with the op around it
    case TypeRule::RingSlot: return apart(op);
    }
  }

  bool sameShape(const Op &op) const {
    return kernel_->type(op.operand(0)).shape() == kernel_->type(op.result()).shape();
  }

  Kernel *kernel_;
  std::vector<LayoutSite> sites_;
  llvm::DenseMap<const Op *, size_t> slots_; // where a loop's sites begin
};

} // namespace

std::vector<LayoutSite> sitesOf(Kernel &kernel) {
  Collector collector(kernel);
  collector.collect(kernel.body(), nullptr);
  return collector.take();
}

const Shape &shapeOf(const Kernel &kernel, const LayoutSite &site) {
  const ValueId value = site.definitions.empty() ? site.uses.front().value() : site.definitions[0];
  return kernel.type(value).shape();
}

} // namespace imbrex::passes::layouts
