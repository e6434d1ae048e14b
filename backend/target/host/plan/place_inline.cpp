#include "backend/target/host/plan/place_inline.h"

#include "backend/target/host/plan/access.h"
#include "backend/target/host/plan/nest_shape.h"

#include <algorithm>

namespace imbrex::host {

using ir::OpKind;
using ir::ValueId;

namespace {

// A value that costs less is computed again by each loop that needs it: about what it takes to
// write it to scratch and read it back.
constexpr std::int32_t kDear = 8;

// The longest chain of ops between kept values: the code of a loop is made by a recursion over the
// chain behind each of its roots. Beside so many ops, to write a value does not show.
constexpr std::int32_t kLongestChain = 256;

// Where a nest computes elements of a value more than once, at points of other elements: so many
// ops for an element it may repeat rather than read it from scratch. What repeats more is worth a
// nest of its own.
constexpr std::int64_t kMostRepeated = 64;

// So many ops of a nest's code may be for values at further points, also where each is another
// element: code grows as the kernel does, and not as the points.
constexpr std::int64_t kMostCode = 512;

std::int32_t costOf(const ir::Op &op) {
  using Rule = ir::TypeRule;
  const Rule rule = info(op.kind).typeRule;
  const bool moves = rule == Rule::Constant || rule == Rule::Arange || rule == Rule::Broadcast ||
                     rule == Rule::Reshape || rule == Rule::Slice || rule == Rule::Split;
  if (moves) return 0;
  if (isLoad(op)) return 2;
  if (isDivision(op.kind) || op.kind == OpKind::Gather) return 8;
  return 1;
}

/// Whether all elements of the operand are in the results, unchanged: it is kept rather than they.
bool onlyMoves(const ir::Op &op) {
  return op.kind == OpKind::Broadcast || op.kind == OpKind::Reshape || op.kind == OpKind::Permute ||
         op.kind == OpKind::Split;
}

} // namespace

void InlinePlacement::noteUse(ValueId value, std::int32_t step, bool needsBuffer) {
  usedBy_[value].insert(step);
  if (needsBuffer) needBuffer_.insert(value);
}

void InlinePlacement::placeIn(const ir::Block &block, BlockSteps &steps) {
  steps_ = &steps;
  usedBy_.clear();
  parts_.clear();
  partsUsing_.clear();
  points_ = PulledPoints(kernel_);
  nestsBefore_ = 0;
  // What the block itself defines, the blocks around it have counted among what their bodies use.
  for (const auto &op : block.ops)
    for (const ValueId result : op->results) captured_.erase(result);
  for (std::int32_t number = 1; number <= steps.count(); ++number) noteUses(steps[number], number);
  for (const auto &op : block.ops) measureDepth(*op);
  for (const auto &op : llvm::reverse(block.ops)) place(*op);
}

void InlinePlacement::noteUses(const Step &step, std::int32_t number) {
  const auto nest = static_cast<NestNumber>(number);
  if (step.kind == Step::Kind::Nest) {
    for (const Root &root : step.nest.roots)
      for (const ValueId operand : operandsOf(root)) {
        noteUse(operand, number);
        partsUsing_[operand].insert(0);
        points_.pullInto(nest, step.nest.space.elements(), operand);
      }
    return;
  }
  // A product's accumulator is in its result's buffer: the nest that brings it there uses it.
  const size_t used = step.op->kind == OpKind::Dot ? 2 : step.op->operands.size();
  for (size_t i = 0; i < used; ++i) {
    noteUse(step.op->operand(i), number, takesBuffer(kernel_, *step.op, i));
    points_.pullInto(nest, 1, step.op->operand(i));
  }
  // A break_if's values are computed when it is taken, like those of a body.
  if (step.op->kind == OpKind::BreakIf)
    captured_.insert(step.op->operands.begin(), step.op->operands.end());
  for (const ir::Block &region : step.op->regions)
    ir::walk(region, [&](const ir::Op &inner) {
      for (size_t i = 0; i < inner.operands.size(); ++i) {
        noteUse(inner.operand(i), number, takesBuffer(kernel_, inner, i));
        captured_.insert(inner.operand(i));
        points_.pullInto(nest, 1, inner.operand(i));
      }
    });
}

/// How long the inline chain behind each result is; one that gets too long ends there.
void InlinePlacement::measureDepth(const ir::Op &op) {
  std::int32_t depth = 0;
  for (const ValueId operand : op.operands) depth = std::max(depth, depth_[operand.index()]);
  ++depth;
  for (const ValueId result : op.results) {
    if (!isTile(kernel_, result) || plan_.isKept(result)) continue;
    if (depth == kLongestChain)
      endChain_.insert(result);
    else
      depth_[result.index()] = depth;
  }
}

/// Whether a value that a body or more than one step uses is worth a buffer.
bool InlinePlacement::isDear(ValueId value, bool isCaptured) const {
  std::int32_t cost = 0; // of the chain behind it
  return anyInline(kernel_, plan_, value, [&](ValueId each, const ir::Op *op) {
    if (!op || !isTile(kernel_, each) || (plan_.isKept(each) && each != value)) return false;
    cost += costOf(*op);
    return cost >= kDear || (isCaptured && isLoad(*op));
  });
}

/// Whether a nest computes the value at so many points that it is kept before.
bool InlinePlacement::isRepeated(ValueId value) const {
  const std::int64_t further = points_.mostPoints(value) - 1;
  if (further <= 0 || onlyMoves(*kernel_.definition(value))) return false;
  const std::int64_t elements = kernel_.type(value).shape().elements();
  const std::int64_t again = std::min(further, points_.mostPulled(value) / elements - 1);
  std::int64_t cost = 0; // of the chain behind it
  return anyInline(kernel_, plan_, value, [&](ValueId each, const ir::Op *op) {
    if (!op || !isTile(kernel_, each) || plan_.isKept(each)) return false;
    cost += costOf(*op);
    return again * cost > kMostRepeated || further * cost > kMostCode;
  });
}

/// The nest that is to write a kept value, where one of its shape is the first to use it.
std::pair<Nest *, NestNumber> InlinePlacement::nestToJoin(ValueId value, std::int32_t first) {
  Step *step = &(*steps_)[first];
  auto number = static_cast<NestNumber>(first);
  const std::set<std::size_t> &users = partsUsing_[value];
  if (const std::size_t part = users.empty() ? 0 : *users.rbegin(); part != 0) {
    const Part &last = parts_[part - 1];
    std::vector<Step> &before = steps_->before[last.step];
    if (last.step == first) {
      step = &before[before.size() - last.fromEnd];
      number = last.number;
    }
  }
  const bool fits =
      step->kind == Step::Kind::Nest && step->nest.space == kernel_.type(value).shape();
  return {fits ? &step->nest : nullptr, number};
}

/// Decide about one op's results, whose users are all decided.
void InlinePlacement::place(const ir::Op &op) {
  for (const ValueId result : op.results) {
    if (!isTile(kernel_, result) || plan_.isKept(result)) continue;
    const std::set<std::int32_t> uses = usedBy_[result];
    if (uses.empty()) continue;
    const std::int32_t first = *uses.begin();
    const bool isCaptured = captured_.contains(result);
    const bool endsChain = endChain_.contains(result) || isRepeated(result);
    const std::set<std::size_t> parts = partsUsing_[result];
    const bool isShared = isCaptured || uses.size() > 1 || parts.size() > 1;
    const bool keep = needBuffer_.contains(result) || (isShared && isDear(result, isCaptured));
    if (!endsChain)
      for (const ValueId operand : op.operands)
        partsUsing_[operand].insert(parts.begin(), parts.end());
    if (isLoad(op)) {
      const std::int32_t write = firstWriteAfter(op, uses);
      if (write != 0) {
        keepBefore(result, std::min(write, first));
        continue;
      }
    }
    if (readByProduct(result, first)) continue;
    if (endsChain) {
      keepInPart(op, result, first);
      continue;
    }
    if (keep)
      keepFor(op, result, first);
    else
      computeInline(op, result, uses);
  }
}

/// Whether a product may read the box of neighbours in memory.
bool InlinePlacement::isReadByProduct(const MatrixBox &box, std::int32_t step) const {
  const ir::Op &load = *box.access;
  const std::optional<size_t> parameter = rootParameter(kernel_, load.operand(0));
  return steps_->local.contains(load.result()) && parameter && traits_.hasUnitStride(*parameter) &&
         kernel_.type(load.result()).element() != ir::ElementKind::F4E2M1 &&
         firstWriteAfter(load, {step}) == 0;
}

/// If the value is a factor of the step, a product, that is loaded for it alone.
bool InlinePlacement::readByProduct(ValueId factor, std::int32_t step) {
  const ir::Op *product = (*steps_)[step].op;
  if (product == nullptr || product->kind != OpKind::Dot) return false;
  const size_t operand = product->operand(0) == factor ? 0 : 1;
  if (product->operand(operand) != factor) return false;
  const std::optional<MatrixBox> box = factorBox(kernel_, uses_, *product, operand);
  if (!box || !isReadByProduct(*box, step)) return false;
  const ValueId loaded = box->access->result();
  (*steps_)[step].inMemory.push_back(
      {.operand = operand, .box = *box, .nest = nestKeeping(loaded)});
  noteKept(loaded, step);
  return true;
}

/// By the nest of its first use, or by one of its own in front of that.
void InlinePlacement::keepFor(const ir::Op &op, ValueId result, std::int32_t first) {
  const auto [nest, number] = nestToJoin(result, first);
  if (nest == nullptr) {
    keepBefore(result, first);
    return;
  }
  plan_.giveBuffer(kernel_, result);
  nest->roots.insert(
      nest->roots.begin(),
      {.kind = Root::Kind::Keep, .value = result, .into = plan_.bufferOf[result.index()]});
  noteOperands(op, first);
  points_.keepIn(number, result);
  points_.pullOperands(op, result);
}

/// Where it is used, as often as it is.
void InlinePlacement::computeInline(const ir::Op &op, ValueId result,
                                    const std::set<std::int32_t> &uses) {
  points_.pullOperands(op, result);
  for (size_t i = 0; i < op.operands.size(); ++i) {
    for (const std::int32_t use : uses) noteUse(op.operand(i), use, takesBuffer(kernel_, op, i));
    if (captured_.contains(result)) captured_.insert(op.operand(i));
  }
}

Nest InlinePlacement::nestKeeping(ValueId value) {
  plan_.giveBuffer(kernel_, value);
  return {
      .space = kernel_.type(value).shape(),
      .roots = {{.kind = Root::Kind::Keep, .value = value, .into = plan_.bufferOf[value.index()]}}};
}

NestNumber InlinePlacement::keepBefore(ValueId value, std::int32_t step) {
  std::vector<Step> &before = steps_->before[step];
  before.insert(before.begin(),
                {.kind = Step::Kind::Nest, .op = nullptr, .nest = nestKeeping(value)});
  return noteKept(value, step);
}

/// By a nest of its own in front of the step: its number.
NestNumber InlinePlacement::noteKept(ValueId value, std::int32_t step) {
  const ir::Op &op = *kernel_.definition(value);
  noteOperands(op, step);
  const NestNumber number = static_cast<NestNumber>(steps_->count()) + ++nestsBefore_;
  points_.keepIn(number, value);
  points_.pullOperands(op, value);
  return number;
}

/// Keep a value by a nest that other values may join.
void InlinePlacement::keepInPart(const ir::Op &op, ValueId result, std::int32_t step) {
  const NestNumber number = keepBefore(result, step);
  parts_.push_back({.step = step, .fromEnd = steps_->before[step].size(), .number = number});
  for (const ValueId operand : op.operands) partsUsing_[operand].insert(parts_.size());
}

void InlinePlacement::noteOperands(const ir::Op &op, std::int32_t step) {
  for (size_t i = 0; i < op.operands.size(); ++i)
    noteUse(op.operand(i), step, takesBuffer(kernel_, op, i));
}

/// Whether an element of the value is computed, without a buffer between, from the load's element
/// at another index.
bool InlinePlacement::isMoved(const ir::Op &load, ValueId value) const {
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
    const auto isTheLoad = [&](ValueId, const ir::Op *inner) { return inner == &load; };
    if (anyInline(kernel_, plan_, operands, isTheLoad)) return true;
  }
  return false;
}

/// Where the nest keeps a value, moves through that are not looked for: it is computed anew at
/// another index, for its buffer is only read once the nest is over.
bool InlinePlacement::isMovedIn(const Nest &nest, const ir::Op &load) const {
  return std::ranges::any_of(nest.roots, [&](const Root &root) {
    if (root.kind == Root::Kind::Keep) return true;
    return llvm::any_of(operandsOf(root), [&](ValueId value) { return isMoved(load, value); });
  });
}

/// The first step with a write that comes after the load in the kernel, and before (or inside) a
/// step that evaluates it; 0: none.
std::int32_t InlinePlacement::firstWriteAfter(const ir::Op &op,
                                              const std::set<std::int32_t> &uses) const {
  const std::size_t order = steps_->order.at(&op);
  for (std::int32_t number = 1; number <= *uses.rbegin(); ++number) {
    if (steps_->written[static_cast<size_t>(number - 1)] <= order) continue;
    const bool crosses = number < *uses.rbegin();
    if (crosses) return number;
    const Step &step = (*steps_)[number];
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
