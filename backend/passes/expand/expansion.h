#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/expand/demand_order.h"
#include "backend/passes/expand/expansion_recorder.h"
#include "backend/passes/rewriting.h"

#include <utility>

namespace imbrex::passes::expand {

/// Put other ops in the place of some: `expansion(recorder, op)` writes what stands for the op and
/// gives the values of its results, or none where it leaves the op alone.
template <class Expansion>
class Expander {
public:
  Expander(ir::Kernel &kernel, Expansion expansion) : kernel_(&kernel), expansion_(expansion) {}

  void expandIn(ir::Block &block, bool isCombine = false) {
    std::vector<std::unique_ptr<ir::Op>> ops = std::exchange(block.ops, {});
    block.ops.reserve(ops.size());
    for (auto &op : ops) {
      replaced_.applyTo(*op);
      if (op->results.empty() || !standsIn(block, *op, isCombine)) {
        const bool isCombiner = ir::info(op->kind).effect == ir::Effect::Pure;
        for (ir::Block &region : op->regions) expandIn(region, isCombiner);
        block.ops.push_back(std::move(op));
      }
    }
  }

private:
  bool standsIn(ir::Block &block, ir::Op &op, bool isCombine) {
    const ir::Shape shape = kernel_->type(op.result()).shape();
    const std::size_t first = block.ops.size();
    ExpansionRecorder recorder(*kernel_, block, shape, op.where, !isCombine);
    const llvm::SmallVector<ir::ValueId, 4> values = expansion_(recorder, std::as_const(op));
    if (values.empty()) return false;
    orderByDemand(block, first, values);
    for (size_t i = 0; i < values.size(); ++i) replaced_.replace(op.result(i), values[i]);
    forget(*kernel_, op);
    return true;
  }

  ir::Kernel *kernel_;
  Expansion expansion_;
  Replacements replaced_;
};

} // namespace imbrex::passes::expand
