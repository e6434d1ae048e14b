#include "backend/passes/dce.h"

#include "backend/passes/rewriting.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::passes {
namespace {

using namespace ir;

/// Marks what is needed, from the effects backwards, and then drops the rest.
class Liveness {
public:
  Liveness(Kernel &kernel, llvm::function_ref<bool(const Op &)> isRoot)
      : kernel_(&kernel), isRoot_(isRoot), live_(kernel.valueCount()) {
    collect(kernel.body(), nullptr, nullptr);
    for (Op *op : roots_) needOp(op);
    while (!pending_.empty()) {
      const ValueId value = pending_.pop_back_val();
      if (Op *op = kernel.definition(value))
        needResult(*op, value);
      else if (const auto owner = owner_.find(value.index()); owner != owner_.end())
        needArgument(*owner->second, value);
    }
  }

  void sweep(Block &block) {
    llvm::erase_if(block.ops, [&](const std::unique_ptr<Op> &op) {
      if (places_.find(op.get())->second.live) return false;
      forget(*kernel_, *op);
      return true;
    });
    for (const auto &op : block.ops) {
      if (op->regions.empty()) continue;
      for (Block &region : op->regions) sweep(region);
      dropDeadSlots(*op);
    }
  }

private:
  struct Place {
    Op *parent = nullptr; // the op whose region holds this one
    bool live = false;
    llvm::SmallVector<Op *, 1> breaks; // of a loop: the break_ifs that leave it
  };

  void collect(Block &block, Op *parent, Op *loop) {
    for (const auto &op : block.ops) {
      places_[op.get()].parent = parent;
      if (isRoot_(*op)) roots_.push_back(op.get());
      if (op->kind == OpKind::BreakIf && loop) places_[loop].breaks.push_back(op.get());
      for (Block &region : op->regions) {
        for (const ValueId argument : region.arguments) owner_[argument.index()] = op.get();
        collect(region, op.get(), isLoop(*op) ? op.get() : loop);
      }
    }
  }

  void need(ValueId value) {
    if (live_[value.index()]) return;
    live_[value.index()] = true;
    pending_.push_back(value);
  }

  /// The op is run, and with it the ops around it. What it yields is needed slot by slot.
  void needOp(Op *op) {
    for (; op; op = places_[op].parent) {
      Place &place = places_[op];
      if (place.live) return;
      place.live = true;
      needOwnOperands(*op);
      for (Block &region : op->regions)
        if (!region.ops.empty() && region.ops.back()->kind == OpKind::Yield)
          places_[region.ops.back().get()].live = true;
    }
  }

  void needOwnOperands(const Op &op) {
    if (isLoop(op)) {
      for (size_t i = 0; i < firstCarriedOperand(op); ++i) need(op.operand(i));
      for (Op *leave : places_[&op].breaks) {
        need(leave->operand(0));
        needOp(leave);
      }
    } else if (op.kind != OpKind::BreakIf) {
      for (const ValueId operand : op.operands) need(operand);
      for (const Block &region : op.regions)
        if (op.kind != OpKind::If)
          for (const ValueId yielded : region.ops.back()->operands) need(yielded);
    }
  }

  void needResult(Op &op, ValueId value) {
    needOp(&op);
    const auto slot = static_cast<size_t>(llvm::find(op.results, value) - op.results.begin());
    if (op.kind == OpKind::If)
      for (Block &region : op.regions) need(yieldOf(region).operand(slot));
    else if (isLoop(op))
      needSlot(op, slot);
  }

  void needArgument(Op &op, ValueId value) {
    if (!isLoop(op)) return;
    const auto &arguments = op.regions.front().arguments;
    const auto position = static_cast<size_t>(llvm::find(arguments, value) - arguments.begin());
    if (position >= firstCarriedArgument(op)) needSlot(op, position - firstCarriedArgument(op));
  }

  void needSlot(Op &loop, size_t slot) {
    need(loop.result(slot));
    need(loop.regions.front().arguments[firstCarriedArgument(loop) + slot]);
    need(loop.operand(firstCarriedOperand(loop) + slot));
    need(yieldOf(loop.regions.front()).operand(slot));
    for (const Op *leave : places_[&loop].breaks) need(leave->operand(1 + slot));
  }

  void dropDeadSlots(Op &op) {
    if (!isLoop(op) && op.kind != OpKind::If) return;
    for (size_t slot = op.results.size(); slot-- > 0;) {
      if (live_[op.result(slot).index()]) continue;
      kernel_->setDefinition(op.result(slot), nullptr);
      op.results.erase(op.results.begin() + slot);
      for (Block &region : op.regions) dropAt(yieldOf(region).operands, slot);
      if (op.kind == OpKind::If) continue;
      dropAt(op.operands, firstCarriedOperand(op) + slot);
      dropAt(op.regions.front().arguments, firstCarriedArgument(op) + slot);
      for (Op *leave : places_[&op].breaks) dropAt(leave->operands, 1 + slot);
    }
  }

  static void dropAt(auto &list, size_t position) {
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(position));
  }

  Kernel *kernel_;
  llvm::function_ref<bool(const Op &)> isRoot_;
  std::vector<bool> live_; // by value number
  llvm::SmallVector<ValueId, 32> pending_;
  std::vector<Op *> roots_;
  llvm::DenseMap<const Op *, Place> places_;
  llvm::DenseMap<std::uint32_t, Op *> owner_; // of a region's argument
};

} // namespace

bool hasEffect(const Op &op) {
  switch (info(op.kind).effect) {
  case Effect::Write:
  case Effect::Atomic:
  case Effect::Ring:
  case Effect::Observe: return true;
  case Effect::Structure: return op.kind == OpKind::While;
  case Effect::Leave: return op.kind == OpKind::ExitIf; // a break_if lives with its loop
  case Effect::Pure:
  case Effect::Read:
  case Effect::End:
  case Effect::Variable: return false;
  }
  return false;
}

void dropUnneeded(Kernel &kernel, llvm::function_ref<bool(const Op &)> isRoot) {
  Liveness liveness(kernel, isRoot);
  liveness.sweep(kernel.body());
}

void dropDeadCode(Kernel &kernel, const PassContext &) { dropUnneeded(kernel, hasEffect); }

} // namespace imbrex::passes
