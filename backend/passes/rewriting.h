#pragma once

#include "backend/ir/kernel.h"

#include <iterator>
#include <utility>
#include <vector>

/// What passes share when they take a block's ops and put back others.
namespace imbrex::passes {

/// Which values stand for others from now on. A pass that meets definitions before uses, as the
/// order of ops in a block is, may ask for an operand right after it replaced the op before.
class Replacements {
public:
  void replace(ir::ValueId old, ir::ValueId by) {
    if (old.index() >= by_.size()) by_.resize(old.index() + 1);
    by_[old.index()] = (*this)[by];
  }

  ir::ValueId operator[](ir::ValueId value) const {
    if (value.index() >= by_.size() || !by_[value.index()].valid()) return value;
    return by_[value.index()];
  }

  void applyTo(ir::Op &op) const {
    if (by_.empty()) return;
    for (ir::ValueId &operand : op.operands) operand = (*this)[operand];
  }

private:
  std::vector<ir::ValueId> by_; // by value number; invalid: stands for itself
};

/// Nobody may find an op by its results any more: call before it is freed.
inline void forget(ir::Kernel &kernel, const ir::Op &op) {
  for (const ir::ValueId result : op.results) kernel.setDefinition(result, nullptr);
  for (const ir::Block &region : op.regions)
    for (const auto &inner : region.ops) forget(kernel, *inner);
}

/// Ops in front of that of this number.
inline void moveInto(ir::Block &block, std::size_t at, ir::Block from) {
  block.ops.insert(block.ops.begin() + static_cast<std::ptrdiff_t>(at),
                   std::make_move_iterator(from.ops.begin()),
                   std::make_move_iterator(from.ops.end()));
}

/// The op that ends a region of a loop, an if or a combine.
ir::Op &yieldOf(ir::Block &region);

/// Where a loop's carried values begin among its operands and its body's arguments.
inline size_t firstCarriedOperand(const ir::Op &loop) {
  return loop.kind == ir::OpKind::For ? 3 : 0;
}
inline size_t firstCarriedArgument(const ir::Op &loop) {
  return loop.kind == ir::OpKind::For ? 1 : 0;
}
inline bool isLoop(const ir::Op &op) {
  return op.kind == ir::OpKind::For || op.kind == ir::OpKind::While;
}

} // namespace imbrex::passes
