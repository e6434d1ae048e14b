#include "backend/passes/licm.h"

#include "backend/analysis/effects.h"
#include "backend/passes/rewriting.h"

#include <algorithm>
#include <utility>

namespace imbrex::passes {
namespace {

using namespace ir;
using Ops = std::vector<std::unique_ptr<Op>>;

class Hoister {
public:
  explicit Hoister(Kernel &kernel) : changing_(kernel.valueCount()) {}

  void hoistFrom(Block &block) {
    if (std::ranges::none_of(block.ops, [](const auto &op) { return !op->regions.empty(); }))
      return;
    Ops ops = std::exchange(block.ops, {});
    block.ops.reserve(ops.size());
    for (auto &op : ops) {
      if (!analysis::hasCombineRegion(*op))
        for (Block &region : op->regions) hoistFrom(region);
      if (isLoop(*op)) moveInvariants(op->regions.front(), block.ops);
      block.ops.push_back(std::move(op));
    }
  }

private:
  void moveInvariants(Block &body, Ops &before) {
    mark(body.arguments);
    Ops kept;
    for (auto &op : body.ops) {
      if (analysis::isPure(*op) && !dependsOnTrip(*op)) {
        before.push_back(std::move(op));
        continue;
      }
      mark(op->results);
      kept.push_back(std::move(op));
    }
    body.ops = std::move(kept);
  }

  void mark(llvm::ArrayRef<ValueId> values) {
    for (const ValueId value : values) changing_[value.index()] = true;
  }

  bool dependsOnTrip(const Op &op) const {
    const auto changes = [&](ValueId value) { return changing_[value.index()]; };
    if (std::ranges::any_of(op.operands, changes)) return true;
    for (const Block &region : op.regions)
      for (const auto &inner : region.ops)
        if (dependsOnTrip(*inner)) return true;
    return false;
  }

  std::vector<bool> changing_; // by value number: may differ from trip to trip of its loop
};

} // namespace

void hoistInvariants(Kernel &kernel, const PassContext &) {
  Hoister(kernel).hoistFrom(kernel.body());
}

} // namespace imbrex::passes
