#include "backend/target/host/plan/plan_products.h"

#include "backend/target/host/plan/access.h"
#include "backend/target/host/plan/value_steps.h"

#include <algorithm>

namespace imbrex::host {
namespace {

using ir::OpKind;
using ir::ValueId;

// So many rows of b multiply the sums that are in registers before these are stored: then storing
// and loading them does not show, and a panel of f32 is in the second-level cache.
constexpr std::int64_t kDepth = 512;

class ProductPlanner {
public:
  ProductPlanner(LoopPlan &plan, const ir::Kernel &kernel, const LaunchTraits &traits)
      : plan_(plan), kernel_(kernel), traits_(traits), uses_(countUses(kernel)),
        alongBlocks_(ValueSteps::alongBlocks(kernel)) {}

  /// Of the steps of a block, `loop` being the for loop that it is the body of, if it is one's.
  void planBlock(const ir::Block &block, const ir::Op *loop) {
    for (Step &step : plan_.steps.at(&block)) {
      if (step.kind == Step::Kind::Whole && step.op->kind == OpKind::Dot) planStep(step, loop);
      if (step.kind != Step::Kind::Control) continue;
      for (const ir::Block &region : step.op->regions)
        planBlock(region, step.op->kind == OpKind::For ? step.op : nullptr);
    }
  }

private:
  void planStep(Step &step, const ir::Op *loop) {
    const ir::Op &dot = *step.op;
    const ir::Op *a = readFor(step, dot.operand(0)), *b = readFor(step, dot.operand(1));
    step.product.keepsPanels = b != nullptr && isConstant(*b) && mayStay(*b);
    if (loop == nullptr || !isCarriedBy(dot, *loop)) return;
    const ir::Shape &shape = kernel_.type(dot.operand(1)).shape();
    step.product.trips = std::max<std::int64_t>(1, kDepth / shape[shape.rank() - 2]);
    step.product.adjoins = a != nullptr && isConstant(*a) && adjoinsAlongK(*a, *loop);
  }

  /// The load that the product reads by itself.
  const ir::Op *readFor(const Step &step, ValueId factor) const {
    const bool isRead = llvm::any_of(
        step.operands, [&](const Nest &nest) { return nest.roots[0].value == factor; });
    return isRead ? kernel_.definition(factor) : nullptr;
  }

  /// Whether nothing in the kernel may write what the load reads.
  bool isConstant(const ir::Op &load) const {
    bool is = true;
    ir::walk(kernel_.body(), [&](const ir::Op &op) {
      const ir::Effect effect = info(op.kind).effect;
      if (effect == ir::Effect::Write || effect == ir::Effect::Atomic)
        is &= !mayTouch(kernel_, traits_, load, op);
      is &= op.kind != OpKind::InlineAsm;
    });
    return is;
  }

  /// Whether the box may be the next block's too.
  bool mayStay(const ir::Op &load) const {
    const auto coordinates = llvm::ArrayRef(load.operands).drop_front();
    return llvm::none_of(coordinates,
                         [&](ValueId value) { return alongBlocks_.of(value).value_or(0) != 0; });
  }

  /// Whether all that the loop does with the sum is to add the product in each trip.
  bool isCarriedBy(const ir::Op &dot, const ir::Op &loop) const {
    const ir::Block &body = loop.regions[0];
    const auto carried = llvm::ArrayRef(body.arguments).drop_front();
    const auto yielded = llvm::ArrayRef(body.ops.back()->operands);
    const auto *const argument = llvm::find(carried, dot.operand(2));
    if (argument == carried.end() || uses_[dot.operand(2).index()] != 1) return false;
    const bool isYielded = yielded[static_cast<size_t>(argument - carried.begin())] == dot.result();
    bool leaves = false;
    ir::walk(body, [&](const ir::Op &op) { leaves |= info(op.kind).effect == ir::Effect::Leave; });
    return isYielded && uses_[dot.result().index()] == 1 && !leaves;
  }

  /// Whether the next trip's box has the columns behind this one's.
  bool adjoinsAlongK(const ir::Op &load, const ir::Op &loop) const {
    const auto moved = ValueSteps::alongTrips(kernel_, loop).ofLoad(load);
    if (!moved) return false;
    const ir::Shape &box = kernel_.type(load.result()).shape();
    return moved->back() == box[box.rank() - 1] &&
           llvm::all_of(llvm::drop_end(*moved), [](std::int64_t step) { return step == 0; });
  }

  LoopPlan &plan_;
  const ir::Kernel &kernel_;
  const LaunchTraits &traits_;
  const std::vector<std::int32_t> uses_;
  const ValueSteps alongBlocks_;
};

} // namespace

void planProducts(LoopPlan &plan, const ir::Kernel &kernel, const LaunchTraits &traits) {
  ProductPlanner(plan, kernel, traits).planBlock(kernel.body(), nullptr);
}

} // namespace imbrex::host
