#include "backend/passes/expand/demand_order.h"

#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

namespace imbrex::passes::expand {

namespace {

using Ops = std::vector<std::unique_ptr<ir::Op>>;

class DemandOrder {
public:
  explicit DemandOrder(Ops ops) : given_(std::move(ops)) {
    for (std::size_t i = 0; i < given_.size(); ++i)
      for (const ir::ValueId result : given_[i]->results) madeBy_[result] = i;
  }

  void ask(ir::ValueId value) {
    if (const auto made = madeBy_.find(value); made != madeBy_.end()) take(made->second);
  }

  /// What nobody asked for comes last.
  Ops all() && {
    for (std::size_t i = 0; i < given_.size(); ++i) take(i);
    return std::move(ordered_);
  }

private:
  void take(std::size_t i) {
    if (!given_[i]) return;
    std::unique_ptr<ir::Op> op = std::move(given_[i]);
    for (ir::Block &region : op->regions) orderRegion(region);
    askFor(*op);
    ordered_.push_back(std::move(op));
  }

  /// The op that ends a region is asked for first, and comes last again.
  static void orderRegion(ir::Block &region) {
    if (region.ops.empty()) return;
    std::unique_ptr<ir::Op> end = std::move(region.ops.back());
    region.ops.pop_back();
    orderByDemand(region, 0, end->operands);
    region.ops.push_back(std::move(end));
  }

  /// Its operands, and what its regions use from outside.
  void askFor(const ir::Op &op) {
    for (const ir::ValueId operand : op.operands) ask(operand);
    for (const ir::Block &region : op.regions)
      for (const auto &inner : region.ops) askFor(*inner);
  }

  Ops given_, ordered_;
  std::unordered_map<ir::ValueId, std::size_t> madeBy_;
};

} // namespace

void orderByDemand(ir::Block &block, std::size_t first, llvm::ArrayRef<ir::ValueId> values) {
  const auto begin = block.ops.begin() + static_cast<std::ptrdiff_t>(first);
  DemandOrder order(Ops(std::make_move_iterator(begin), std::make_move_iterator(block.ops.end())));
  block.ops.erase(begin, block.ops.end());
  for (const ir::ValueId value : values) order.ask(value);
  std::ranges::move(std::move(order).all(), std::back_inserter(block.ops));
}

} // namespace imbrex::passes::expand
