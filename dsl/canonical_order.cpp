#include "dsl/canonical_order.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace imbrex::dsl {
namespace {

using ir::Effect;

/// Reorders the ops of one block.
class Orderer {
public:
  Orderer(ir::Block &block, const std::vector<std::int32_t> &uses) : block_(block), uses_(uses) {
    for (std::size_t i = 0; i < block.ops.size(); ++i)
      for (const ir::ValueId result : block.ops[i]->results) definedAt_[result.index()] = i;
    rank_.assign(block.ops.size(), 0);
    emitted_.assign(block.ops.size(), false);
  }

  void run() {
    rankByDemand();
    for (std::size_t i = 0; i < block_.ops.size(); ++i) {
      if (!keepsPlace(*block_.ops[i])) continue;
      if (orders(*block_.ops[i])) emitReadsBefore(i);
      emit(i);
    }
    std::vector<std::unique_ptr<ir::Op>> ordered;
    ordered.reserve(order_.size());
    for (const std::size_t i : order_) ordered.push_back(std::move(block_.ops[i]));
    block_.ops = std::move(ordered);
  }

private:
  bool isUsed(const ir::Op &op) const {
    return std::ranges::any_of(op.results, [&](ir::ValueId v) { return uses_[v.index()] != 0; });
  }
  bool keepsPlace(const ir::Op &op) const {
    const Effect effect = ir::info(op.kind).effect;
    return (effect != Effect::Pure && effect != Effect::Read) || !isUsed(op);
  }
  /// Whether reads of memory in front of the op must stay there.
  static bool orders(const ir::Op &op) {
    const Effect effect = ir::info(op.kind).effect;
    return effect != Effect::Pure && effect != Effect::Read && effect != Effect::Variable;
  }

  /// The ops of this block that an op and its bodies need, in the order in which it names them.
  llvm::SmallVector<std::size_t, 8> needs(const ir::Op &op) const {
    llvm::SmallVector<std::size_t, 8> result;
    const auto add = [&](const ir::Op &user) {
      for (const ir::ValueId operand : user.operands)
        if (const auto at = definedAt_.find(operand.index()); at != definedAt_.end())
          result.push_back(at->second);
    };
    add(op);
    for (const ir::Block &region : op.regions) ir::walk(region, add);
    return result;
  }

  /// Visit what op `root` needs, needs first, then itself; not what `done` marks. Iterative: a
  /// kernel unrolled by its author has chains of many thousand ops.
  template <class Visit>
  void visitNeeds(std::size_t root, const std::vector<bool> &done, const Visit &visit) const {
    struct Frame {
      std::size_t op;
      llvm::SmallVector<std::size_t, 8> needs;
      std::size_t next = 0;
    };
    if (done[root]) return;
    std::vector<Frame> stack;
    stack.push_back({root, needs(*block_.ops[root])});
    while (!stack.empty()) {
      Frame &top = stack.back();
      if (top.next == top.needs.size()) {
        visit(top.op);
        stack.pop_back();
        continue;
      }
      const std::size_t need = top.needs[top.next++];
      if (!done[need]) stack.push_back({need, needs(*block_.ops[need])});
    }
  }

  /// Number the ops by when the ops that keep their place first need them.
  void rankByDemand() {
    std::vector<bool> ranked(block_.ops.size(), false);
    std::size_t next = 0;
    for (std::size_t i = 0; i < block_.ops.size(); ++i) {
      if (!keepsPlace(*block_.ops[i])) continue;
      visitNeeds(i, ranked, [&](std::size_t op) {
        if (ranked[op]) return;
        ranked[op] = true;
        rank_[op] = next++;
      });
    }
  }

  void emit(std::size_t root) {
    visitNeeds(root, emitted_, [&](std::size_t op) {
      if (emitted_[op]) return;
      emitted_[op] = true;
      order_.push_back(op);
    });
  }

  void emitReadsBefore(std::size_t end) {
    std::vector<std::size_t> reads;
    for (; nextRead_ < end; ++nextRead_)
      if (ir::info(block_.ops[nextRead_]->kind).effect == Effect::Read && !emitted_[nextRead_])
        reads.push_back(nextRead_);
    std::ranges::sort(reads, {}, [&](std::size_t op) { return rank_[op]; });
    for (const std::size_t read : reads) emit(read);
  }

  ir::Block &block_;
  const std::vector<std::int32_t> &uses_;
  llvm::DenseMap<std::uint32_t, std::size_t> definedAt_;
  std::vector<std::size_t> rank_;
  std::vector<bool> emitted_;
  std::vector<std::size_t> order_;
  std::size_t nextRead_ = 0;
};

void orderBlock(ir::Block &block, const std::vector<std::int32_t> &uses) {
  for (const auto &op : block.ops)
    for (ir::Block &region : op->regions) orderBlock(region, uses);
  Orderer(block, uses).run();
}

/// Drop unused discardable reads, unused reads of variables, and what only they needed.
void dropUnused(ir::Block &block, ir::Kernel &kernel, std::vector<std::int32_t> &uses,
                llvm::DenseSet<std::uint32_t> &droppable) {
  for (auto &op : llvm::reverse(block.ops)) {
    for (ir::Block &region : op->regions) dropUnused(region, kernel, uses, droppable);
    const bool isRead = op->kind == ir::OpKind::VarRead;
    const bool mayDrop = isRead || std::ranges::any_of(op->results, [&](ir::ValueId result) {
                           return droppable.contains(result.index());
                         });
    const bool unused = std::ranges::none_of(
        op->results, [&](ir::ValueId result) { return uses[result.index()] != 0; });
    if (!mayDrop || !unused) continue;
    for (const ir::ValueId operand : op->operands) {
      --uses[operand.index()];
      const ir::Op *definition = kernel.definition(operand);
      if (definition && ir::info(definition->kind).effect == Effect::Pure)
        droppable.insert(operand.index());
    }
    for (const ir::ValueId result : op->results) kernel.setDefinition(result, nullptr);
    op.reset();
  }
  std::erase(block.ops, nullptr);
}

} // namespace

void orderCanonically(ir::Kernel &kernel, const llvm::DenseSet<std::uint32_t> &discardable) {
  std::vector<std::int32_t> uses = ir::countUses(kernel);
  llvm::DenseSet<std::uint32_t> droppable = discardable;
  dropUnused(kernel.body(), kernel, uses, droppable);
  orderBlock(kernel.body(), uses);
}

} // namespace imbrex::dsl
