#include "backend/target/host/access.h"
#include "backend/target/host/nest_shape.h"
#include "backend/target/host/planner.h"

#include <algorithm>

/// Once a block's nests are known: which inline values are kept after all.
namespace imbrex::host {

using ir::OpKind;
using ir::ValueId;

namespace {

// A value that costs less is computed again by each loop that needs it: about what it takes to
// write it to scratch and read it back.
constexpr std::int32_t kDear = 8;

std::int32_t costOf(const ir::Op &op) {
  using Rule = ir::TypeRule;
  const Rule rule = info(op.kind).typeRule;
  const bool moves = rule == Rule::Constant || rule == Rule::Arange || rule == Rule::Broadcast ||
                     rule == Rule::Reshape || rule == Rule::Slice || rule == Rule::Split;
  if (moves) return 0;
  if (isLoad(op)) return 2;
  if (op.kind == OpKind::Div || op.kind == OpKind::Rem || op.kind == OpKind::CeilDiv) return 8;
  if (op.kind == OpKind::Sqrt || op.kind == OpKind::Rsqrt || op.kind == OpKind::Gather) return 8;
  return 1;
}

} // namespace

void Planner::noteUse(ValueId value, std::int32_t step, bool needsBuffer) {
  usedBy_[value].insert(step);
  if (needsBuffer) needBuffer_.insert(value);
}

void Planner::placeInline(const ir::Block &block) {
  usedBy_.clear();
  for (std::int32_t number = 1; number <= stepCount(); ++number)
    noteUses(state_->steps[static_cast<size_t>(number - 1)], number);
  for (auto op = block.ops.rbegin(); op != block.ops.rend(); ++op)
    place(**op, order_.at(op->get()));
}

void Planner::noteUses(const Step &step, std::int32_t number) {
  if (step.kind == Step::Kind::Nest) {
    for (const Root &root : step.nest.roots)
      for (const ValueId operand : operandsOf(root)) noteUse(operand, number);
    return;
  }
  for (size_t i = 0; i < step.op->operands.size(); ++i)
    noteUse(step.op->operand(i), number, takesBuffer(kernel_, *step.op, i));
  // A break_if's values are computed when it is taken, like those of a body.
  if (step.op->kind == OpKind::BreakIf)
    captured_.insert(step.op->operands.begin(), step.op->operands.end());
  for (const ir::Block &region : step.op->regions)
    ir::walk(region, [&](const ir::Op &inner) {
      for (size_t i = 0; i < inner.operands.size(); ++i) {
        noteUse(inner.operand(i), number, takesBuffer(kernel_, inner, i));
        captured_.insert(inner.operand(i));
      }
    });
}

/// Decide about one op's results, whose users are all decided.
void Planner::place(const ir::Op &op, size_t order) {
  for (const ValueId result : op.results) {
    if (!isTile(kernel_, result) || plan_.isKept(result)) continue;
    const std::set<std::int32_t> uses = usedBy_[result];
    if (uses.empty()) continue;
    bool keep = false;
    std::int32_t first = *uses.begin();
    // Cost of the chain behind it.
    std::int32_t cost = 0;
    bool loads = false;
    forEachInline(kernel_, plan_, result, [&](ValueId value, const ir::Op *inner) {
      if (!inner || !isTile(kernel_, value) || (plan_.isKept(value) && value != result)) return;
      cost += costOf(*inner);
      loads |= isLoad(*inner);
    });
    const bool isCaptured = captured_.contains(result);
    if (needBuffer_.contains(result)) keep = true;
    if (isCaptured && (loads || cost >= kDear)) keep = true;
    if (uses.size() > 1 && cost >= kDear) keep = true;
    if (isLoad(op)) {
      const std::int32_t write = firstWriteAfter(op, order, uses);
      if (write != 0) {
        keepBefore(result, std::min(write, first));
        continue;
      }
    }
    if (keep) {
      Step &step = state_->steps[static_cast<size_t>(first - 1)];
      const ir::Shape &shape = kernel_.type(result).shape();
      if (step.kind == Step::Kind::Nest && step.nest.space == shape) {
        giveBuffer(result);
        step.nest.roots.insert(
            step.nest.roots.begin(),
            {.kind = Root::Kind::Keep, .value = result, .into = plan_.bufferOf[result.index()]});
        noteOperands(op, first);
      } else {
        keepBefore(result, first);
      }
      continue;
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      for (const std::int32_t use : uses) noteUse(op.operand(i), use, takesBuffer(kernel_, op, i));
      if (isCaptured) captured_.insert(op.operand(i));
    }
  }
}

void Planner::keepBefore(ValueId value, std::int32_t step) {
  giveBuffer(value);
  std::vector<Step> &before = state_->before[step];
  Nest nest{
      .space = kernel_.type(value).shape(),
      .roots = {{.kind = Root::Kind::Keep, .value = value, .into = plan_.bufferOf[value.index()]}}};
  before.insert(before.begin(), {.kind = Step::Kind::Nest, .op = nullptr, .nest = std::move(nest)});
  noteOperands(*kernel_.definition(value), step);
}

void Planner::noteOperands(const ir::Op &op, std::int32_t step) {
  for (size_t i = 0; i < op.operands.size(); ++i)
    noteUse(op.operand(i), step, takesBuffer(kernel_, op, i));
}

/// Whether an element of the value is computed, without a buffer between, from the load's element
/// at another index.
bool Planner::isMoved(const ir::Op &load, ValueId value) const {
  std::set<ValueId> seen;
  std::vector<ValueId> pending{value};
  while (!pending.empty()) {
    const ValueId next = pending.back();
    pending.pop_back();
    const ir::Op *op = kernel_.definition(next);
    const bool isLeaf = !op || op == &load || (plan_.isKept(next) && next != value);
    if (isLeaf || !seen.insert(next).second) continue;
    llvm::SmallVector<ValueId, 4> operands;
    for (const ValueId operand : op->operands)
      if (isTile(kernel_, operand) && !plan_.isKept(operand)) operands.push_back(operand);
    if (keepsIndices(*op)) {
      pending.insert(pending.end(), operands.begin(), operands.end());
      continue;
    }
    bool reaches = false;
    forEachInline(kernel_, plan_, operands,
                  [&](ValueId, const ir::Op *inner) { reaches |= inner == &load; });
    if (reaches) return true;
  }
  return false;
}

bool Planner::isMovedIn(const Nest &nest, const ir::Op &load) const {
  return std::ranges::any_of(nest.roots, [&](const Root &root) {
    return llvm::any_of(operandsOf(root), [&](ValueId value) { return isMoved(load, value); });
  });
}

/// The first step with a write that comes after the load in the kernel, and before (or inside) a
/// step that evaluates it; 0: none.
std::int32_t Planner::firstWriteAfter(const ir::Op &op, size_t order,
                                      const std::set<std::int32_t> &uses) {
  for (std::int32_t number = 1; number <= *uses.rbegin(); ++number) {
    if (state_->written[static_cast<size_t>(number - 1)] <= order) continue;
    const bool crosses = number < *uses.rbegin();
    if (crosses) return number;
    const Step &step = state_->steps[static_cast<size_t>(number - 1)];
    if (step.kind != Step::Kind::Nest) return number;
    for (const Root &root : step.nest.roots)
      if (root.kind == Root::Kind::Store &&
          (mayConflict(kernel_, traits_, op, *root.op) ||
           (mayTouch(kernel_, traits_, op, *root.op) && isMovedIn(step.nest, op))))
        return number;
  }
  return 0;
}

} // namespace imbrex::host
