#include "backend/passes/pipeline/read_in_place.h"

#include "backend/analysis/names_in_products.h"
#include "backend/ir/shared_tiles.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

class InPlaceRewriter {
public:
  explicit InPlaceRewriter(Kernel &kernel) : kernel_(&kernel) {}

  void visit(Block &block) {
    for (const auto &op : block.ops) {
      replaced_.applyTo(*op);
      rewrite(*op);
      for (Block &region : op->regions) visit(region);
    }
    bool isRead = false; // in place, what the block takes
    llvm::erase_if(block.ops, [&](const auto &op) {
      if (!gone_.contains(op.get())) return false;
      isRead |= op->kind == OpKind::SharedLoad;
      forget(*kernel_, *op);
      return true;
    });
    if (isRead) releaseBehindReaders(block);
  }

private:
  void rewrite(Op &op) {
    const bool isRead = op.kind == OpKind::SharedLoad;
    if (isRead && !analysis::namesInProducts(*kernel_, op.result())) return;
    if (op.operands.empty() || !kernel_->type(op.operand(0)).isShared()) return;
    if (isRead || op.kind == OpKind::ConvertLayout) {
      replaced_.replace(op.result(), op.operand(0));
      gone_.insert(&op);
    } else if (kernel_->type(op.result()).isTile() && analysis::passesOn(*kernel_, op)) {
      relabel(op);
    }
  }

  void relabel(Op &op) {
    const ValueId held = op.result();
    op.results.clear();
    kernel_->addResults(op, {Type::shared(kernel_->type(held))});
    kernel_->setDefinition(held, nullptr);
    replaced_.replace(held, op.result());
  }

  bool reads(const Op &op, const std::set<const Op *> &slots) const {
    if (readsShared(*kernel_, op) && llvm::any_of(op.operands, [&](ValueId operand) {
          return kernel_->type(operand).isShared() && slots.contains(&slotOf(*kernel_, operand));
        }))
      return true;
    return llvm::any_of(op.regions, [&](const Block &body) {
      return llvm::any_of(body.ops, [&](const auto &inner) { return reads(*inner, slots); });
    });
  }

  /// Of the slots that are taken in the same body.
  void releaseBehindReaders(Block &block) const {
    std::set<const Op *> slots;
    std::size_t end = 0;
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      if (block.ops[i]->kind == OpKind::RingSlot) slots.insert(block.ops[i].get());
      if (reads(*block.ops[i], slots)) end = i + 1;
    }
    std::stable_partition(block.ops.begin(), block.ops.begin() + static_cast<std::ptrdiff_t>(end),
                          [](const auto &op) { return op->kind != OpKind::BarrierArrive; });
  }

  Kernel *kernel_;
  Replacements replaced_;
  std::set<const Op *> gone_;
};

} // namespace

void readInPlace(Kernel &kernel, Op &loop) { InPlaceRewriter(kernel).visit(loop.regions[0]); }

} // namespace imbrex::passes::pipeline
