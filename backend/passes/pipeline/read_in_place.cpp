#include "backend/passes/pipeline/read_in_place.h"

#include "backend/ir/products.h"
#include "backend/ir/shared_tiles.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

/// What names a tile's elements anew, or holds them on other threads: of a tile that is read where
/// it lies, nothing moves.
bool passesOn(const Kernel &kernel, const Op &op) {
  return op.kind == OpKind::ConvertLayout || renaming(kernel, op);
}

bool multipliesInPlace(const Kernel &kernel, const Op &op, ValueId tile) {
  if (!isProduct(op) || op.operand(2) == tile) return false;
  if (isOnUnit(op)) return true;
  if (op.kind == OpKind::DotScaled) return false;
  const auto &attrs = op.attrs<DotAttrs>();
  return attrs.precision == Precision::Ieee && !isNarrowFloat(kernel.type(tile).element());
}

/// Adds the names of a tile as long as nothing but products uses it.
bool addNames(const Kernel &kernel, ValueId tile, std::set<ValueId> &names) {
  bool isUsed = false, are = true;
  names.insert(tile);
  walk(kernel.body(), [&](const Op &op) {
    if (!are || !llvm::is_contained(op.operands, tile)) return;
    isUsed = true;
    are = passesOn(kernel, op) ? addNames(kernel, op.result(), names)
                               : multipliesInPlace(kernel, op, tile);
  });
  return isUsed && are;
}

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
    if (isRead && !namesInProducts(*kernel_, op.result())) return;
    if (op.operands.empty() || !kernel_->type(op.operand(0)).isShared()) return;
    if (isRead || op.kind == OpKind::ConvertLayout) {
      replaced_.replace(op.result(), op.operand(0));
      gone_.insert(&op);
    } else if (kernel_->type(op.result()).isTile() && passesOn(*kernel_, op)) {
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

std::optional<std::set<ValueId>> namesInProducts(const Kernel &kernel, ValueId tile) {
  std::set<ValueId> names;
  if (!addNames(kernel, tile, names)) return std::nullopt;
  return names;
}

std::optional<std::int32_t> depthAxisOf(const Kernel &kernel, ValueId tile) {
  std::optional<std::int32_t> axis;
  walk(kernel.body(), [&](const Op &op) {
    const auto *const operand = llvm::find(op.operands, tile);
    if (axis || operand == op.operands.end()) return;
    if (isProduct(op))
      axis = depthAxis(kernel, op, static_cast<std::size_t>(operand - op.operands.begin()));
    else if (op.kind == OpKind::ConvertLayout || op.kind == OpKind::Slice)
      axis = depthAxisOf(kernel, op.result());
    else if (op.kind == OpKind::Permute)
      if (const auto named = depthAxisOf(kernel, op.result()))
        axis = static_cast<std::int32_t>(
            op.attrs<PermuteAttrs>().order[static_cast<std::size_t>(*named)]);
  });
  return axis;
}

void readInPlace(Kernel &kernel, Op &loop) { InPlaceRewriter(kernel).visit(loop.regions[0]); }

} // namespace imbrex::passes::pipeline
