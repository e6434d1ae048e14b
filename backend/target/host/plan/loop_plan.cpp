#include "backend/target/host/plan/loop_plan.h"

#include "backend/target/host/plan/access.h"
#include "backend/target/host/plan/nest_shape.h"
#include "backend/target/host/plan/place_inline.h"
#include "backend/target/host/plan/plan_products.h"
#include "backend/target/host/plan/read_ahead.h"

#include <algorithm>
#include <utility>

namespace imbrex::host {

using ir::OpKind;
using ir::ValueId;

namespace {

/// Whether every type of the op is a scalar or a view: it runs once, where it stands.
bool isScalarOp(const ir::Kernel &kernel, const ir::Op &op) {
  const auto isNoTile = [&](ValueId value) { return !isTile(kernel, value); };
  return std::ranges::all_of(op.operands, isNoTile) && std::ranges::all_of(op.results, isNoTile);
}

/// A reduction that a nest does on the way; others have loops of their own.
bool isNestReduction(const ir::Kernel &kernel, const ir::Op &op) {
  const auto &attrs = op.attrs<ir::ReduceAttrs>();
  const ir::Type &type = kernel.type(op.operand(0));
  if (attrs.combine == ir::Combine::Region) return false;
  const bool rounds = isFloat(type.element()) &&
                      (attrs.combine == ir::Combine::Sum || attrs.combine == ir::Combine::Prod);
  if (rounds && attrs.deterministic) return false;
  // Half-precision sums are accumulated in f32, for which the result's buffer has no room.
  const bool isHalf = storageBits(type.element()) == 16;
  return !(rounds && isHalf && attrs.axis != innerAxisOf(type.shape()));
}

bool isControl(const ir::Op &op) {
  return op.kind == OpKind::For || op.kind == OpKind::While || op.kind == OpKind::If;
}

bool isReductionOfOne(const ir::Kernel &kernel, const ir::Op &op) {
  const auto &attrs = op.attrs<ir::ReduceAttrs>();
  return attrs.combine != ir::Combine::Region &&
         kernel.type(op.operand(0)).shape()[attrs.axis] == 1;
}

/// An op with loops of its own, from buffers to buffers; one with an effect also where all its
/// types are scalars.
bool isWhole(const ir::Kernel &kernel, const ir::Op &op) {
  using Effect = ir::Effect;
  const Effect effect = info(op.kind).effect;
  if (effect == Effect::Atomic || effect == Effect::Observe) return true;
  if (op.kind == OpKind::Reduce)
    return !isReductionOfOne(kernel, op) && !isNestReduction(kernel, op);
  return op.kind == OpKind::Scan || op.kind == OpKind::Sort || op.kind == OpKind::Histogram ||
         op.kind == OpKind::Dot;
}

} // namespace

bool isTile(const ir::Kernel &kernel, ValueId value) {
  return kernel.type(value).isTileOrPointers() && kernel.type(value).rank() > 0;
}

bool takesBuffer(const ir::Kernel &kernel, const ir::Op &op, size_t operand) {
  if (op.kind == OpKind::Dot) return operand < 2; // its accumulator is brought into its result
  if (op.kind == OpKind::Gather) return operand == 0;
  return isWhole(kernel, op);
}

namespace {

/// The buffers that a body's yield, and a break_if inside, bring values to.
llvm::SmallVector<ValueId, 4> carriedBy(const ir::Op &op) {
  const ir::Block &body = op.regions[0];
  if (op.kind == OpKind::If) return {op.results.begin(), op.results.end()};
  const auto first = body.arguments.begin() + (op.kind == OpKind::For ? 1 : 0);
  return {first, body.arguments.end()};
}

/// Makes the steps of blocks in order; what of the values between them is kept, the placement says,
/// before the bodies inside follow.
class Planner {
public:
  Planner(const ir::Kernel &kernel, const LaunchTraits &traits)
      : kernel_(kernel), traits_(traits), uses_(countUses(kernel)), level_(kernel.valueCount(), 0),
        placement_(kernel, traits, uses_, plan_) {
    plan_.bufferOf.resize(kernel.valueCount());
  }

  LoopPlan run() {
    planBlock(kernel_.body(), {});
    assignOffsets();
    return std::move(plan_);
  }

private:
  /// A value's level is the last step that must be over before it can be computed.
  struct BlockState : BlockSteps {
    std::int32_t open = 0;           // the number of the nest that roots may join; 0: none
    std::int32_t lastStore = 0;      // the last step that stores
    llvm::ArrayRef<ValueId> targets; // of the block's yield
  };

  void close() { state_->open = 0; }
  std::int32_t stepCount() const { return state_->count(); }
  void giveBuffer(ValueId value) { plan_.giveBuffer(kernel_, value); }

  std::int32_t levelOf(llvm::ArrayRef<ValueId> values) const {
    std::int32_t level = 0;
    for (const ValueId value : values) level = std::max(level, level_[value.index()]);
    return level;
  }

  void addStep(Step step) {
    close();
    const bool writes = step.op && writesMemory(*step.op);
    state_->written.push_back(writes ? state_->order.at(step.op) : 0);
    state_->steps.push_back(std::move(step));
    if (writes) state_->lastStore = stepCount();
  }

  /// Join the open nest, or open one.
  void addRoot(const ir::Shape &space, Root root, std::int32_t level) {
    const bool joins =
        state_->open != 0 && level < state_->open && state_->steps.back().nest.space == space;
    if (!joins) {
      addStep({.kind = Step::Kind::Nest, .op = nullptr, .nest = {.space = space, .roots = {}}});
      state_->open = stepCount();
    }
    state_->steps.back().nest.roots.push_back(root);
  }

  void planReduce(const ir::Op &op) {
    for (const ValueId result : op.results) giveBuffer(result);
    addRoot(kernel_.type(op.operand(0)).shape(), {.kind = Root::Kind::Reduce, .op = &op},
            levelOf(op.operands));
    for (const ValueId result : op.results) level_[result.index()] = stepCount();
  }

  bool conflictsInNest(const Nest &nest, const ir::Op &store) const {
    return std::ranges::any_of(nest.roots, [&](const Root &root) {
      return root.kind == Root::Kind::Store && mayConflict(kernel_, traits_, *root.op, store);
    });
  }

  void planStore(const ir::Op &op) {
    const ir::Shape &space = kernel_.type(op.operand(1)).shape();
    if (state_->open != 0 && conflictsInNest(state_->steps.back().nest, op)) close();
    addRoot(space, {.kind = Root::Kind::Store, .op = &op}, levelOf(op.operands));
    state_->written.back() = state_->order.at(&op);
    state_->lastStore = stepCount();
  }

  /// No later store may join a nest whose stores the load comes after: its place would be lost,
  /// between the stores of one loop. Nor one whose reductions say where to load: to be loaded
  /// before the store, it would have to be before them.
  void planLoad(const ir::Op &op) {
    if (state_->open == 0) return;
    if (levelOf(op.operands) == state_->open) return close();
    const bool follows =
        std::ranges::any_of(state_->steps.back().nest.roots, [&](const Root &root) {
          return root.kind == Root::Kind::Store && mayTouch(kernel_, traits_, op, *root.op);
        });
    if (follows) close();
  }

  void planWhole(const ir::Op &op) {
    if (op.kind == OpKind::Dot) planAccumulator(op);
    addStep({.kind = Step::Kind::Whole, .op = &op});
    for (const ValueId result : op.results) {
      if (uses_[result.index()] > 0) giveBuffer(result);
      level_[result.index()] = stepCount();
    }
  }

  /// The buffer of a tile that the body carries, if the accumulator is computed from it element by
  /// element, and nothing else uses it: nobody reads there any more what was carried.
  BufferId carriedBuffer(ValueId accumulator) const {
    const ir::Op *made = kernel_.definition(accumulator);
    if (!made || uses_[accumulator.index()] != 1 || !keepsIndices(*made)) return {};
    for (const ValueId target : state_->targets)
      if (uses_[target.index()] == 1 && llvm::is_contained(made->operands, target) &&
          kernel_.type(target) == kernel_.type(accumulator))
        return plan_.bufferOf[target.index()];
    return {};
  }

  /// A product adds to its result's buffer in place. Where the accumulator has a buffer that nobody
  /// else reads any more, that is the one; else its elements are brought into the one that they
  /// are computed from, or into a new one.
  void planAccumulator(const ir::Op &op) {
    const ValueId accumulator = op.operand(2), result = op.result();
    const bool isOurs = uses_[accumulator.index()] == 1 && state_->local.contains(accumulator);
    if (isOurs && plan_.isKept(accumulator)) {
      plan_.bufferOf[result.index()] = plan_.bufferOf[accumulator.index()];
      return;
    }
    plan_.bufferOf[result.index()] = carriedBuffer(accumulator);
    giveBuffer(result);
    addRoot(
        kernel_.type(result).shape(),
        {.kind = Root::Kind::Keep, .value = accumulator, .into = plan_.bufferOf[result.index()]},
        levelOf(accumulator));
  }

  void planOp(const ir::Op &op) {
    using Effect = ir::Effect;
    const Effect effect = info(op.kind).effect;
    if (isControl(op)) {
      planLoopEntry(op);
      addStep({.kind = Step::Kind::Control, .op = &op});
      for (const ValueId result : op.results) level_[result.index()] = stepCount();
      return;
    }
    if (op.kind == OpKind::Yield) return;
    if (effect == Effect::Leave) return addStep({.kind = Step::Kind::Control, .op = &op});
    std::int32_t level = levelOf(op.operands);
    if (isLoad(op)) {
      planLoad(op);
      level = std::max(level, state_->lastStore);
    }
    if (isWhole(kernel_, op)) return planWhole(op);
    const bool givesScalar =
        std::ranges::any_of(op.results, [&](ValueId value) { return !isTile(kernel_, value); });
    const bool isAlone =
        isScalarOp(kernel_, op) ||
        (givesScalar && (op.kind != OpKind::Reduce || isReductionOfOne(kernel_, op)));
    if (isAlone) {
      // A pure scalar that does not wait for the open nest goes in front of it.
      const bool isFree = effect == Effect::Pure || isLoad(op);
      if (isFree && state_->open != 0 && level < state_->open) {
        const auto at = state_->steps.end() - 1;
        state_->steps.insert(at, {.kind = Step::Kind::Scalar, .op = &op});
        state_->written.insert(state_->written.end() - 1, 0);
        if (state_->lastStore == state_->open) ++state_->lastStore;
        for (std::int32_t &other : level_)
          if (other == state_->open) ++other;
        ++state_->open;
        for (const ValueId result : op.results) level_[result.index()] = stepCount() - 1;
      } else {
        addStep({.kind = Step::Kind::Scalar, .op = &op});
        for (const ValueId result : op.results) level_[result.index()] = stepCount();
      }
      return;
    }
    if (isStore(op)) return planStore(op);
    if (op.kind == OpKind::Reduce && !isReductionOfOne(kernel_, op)) return planReduce(op);
    for (const ValueId result : op.results) level_[result.index()] = level;
  }

  // --- values that cross the borders of bodies ---

  /// Steps that bring values into the buffers of `targets`, all at once: a value may be computed
  /// from what a target held before.
  std::vector<Step> transfer(llvm::ArrayRef<ValueId> values, llvm::ArrayRef<ValueId> targets) {
    BlockState *outer = state_;
    BlockState inner;
    state_ = &inner;
    transferInto(values, targets);
    state_ = outer;
    return std::move(inner.steps);
  }

  /// Whether elements of a kept tile are on the way to the op's.
  bool readsKept(const ir::Op &op) const {
    return anyInline(kernel_, plan_, op.operands, [&](ValueId value, const ir::Op *) {
      return isTile(kernel_, value) && plan_.isKept(value);
    });
  }

  void transferInto(llvm::ArrayRef<ValueId> values, llvm::ArrayRef<ValueId> targets) {
    struct Move {
      ValueId value;
      BufferId target;
      BufferId into;
      std::set<BufferId> sources; // kept tiles that the value is computed from
      bool isElementwise = true;  // and all at the index that is computed
    };
    close();
    std::vector<Move> moves;
    for (size_t i = 0; i < values.size(); ++i) {
      const BufferId target = plan_.bufferOf[targets[i].index()];
      if (!isTile(kernel_, values[i]) || plan_.bufferOf[values[i].index()] == target) continue;
      Move move{values[i], target, target, {}};
      if (plan_.isKept(values[i]))
        move.sources.insert(plan_.bufferOf[values[i].index()]);
      else
        forEachInline(kernel_, plan_, values[i], [&](ValueId value, const ir::Op *op) {
          if (!isTile(kernel_, value)) return;
          if (plan_.isKept(value)) move.sources.insert(plan_.bufferOf[value.index()]);
          const bool isPlain = !op || plan_.isKept(value) || keepsIndices(*op);
          move.isElementwise &= isPlain || !readsKept(*op);
        });
      moves.push_back(std::move(move));
    }
    std::ranges::stable_sort(moves, {}, [&](const Move &move) {
      return std::vector<std::int64_t>(kernel_.type(move.value).shape().extents());
    });
    std::vector<std::pair<BufferId, BufferId>> copies;
    for (Move &move : moves) {
      // A target that some other value is computed from must keep its old contents until all are
      // done, unless both happen at the same index of one nest.
      const ir::Shape &shape = kernel_.type(move.value).shape();
      const bool isRead = std::ranges::any_of(moves, [&](const Move &other) {
        if (!other.sources.contains(move.target)) return false;
        return !other.isElementwise || kernel_.type(other.value).shape() != shape;
      });
      if (isRead) {
        const BufferId aside = plan_.newBuffer(kernel_.type(move.value));
        copies.emplace_back(aside, move.into);
        move.into = aside;
      }
      addRoot(shape, {.kind = Root::Kind::Keep, .value = move.value, .into = move.into}, 0);
    }
    close();
    for (const auto &[from, into] : copies)
      addRoot(plan_.buffers[into.index()].type.shape(),
              {.kind = Root::Kind::Copy, .into = into, .from = from}, 0);
    close();
  }

  void planLoopEntry(const ir::Op &op) {
    if (op.kind == OpKind::If) {
      for (const ValueId result : op.results) giveBuffer(result);
      return;
    }
    const ir::Block &body = op.regions[0];
    const size_t index = op.kind == OpKind::For ? 1 : 0;
    const size_t initial = op.kind == OpKind::For ? 3 : 0;
    std::vector<ValueId> values, targets;
    for (size_t i = 0; i < op.results.size(); ++i) {
      const ValueId argument = body.arguments[index + i];
      giveBuffer(argument);
      plan_.bufferOf[op.results[i].index()] = plan_.bufferOf[argument.index()];
      values.push_back(op.operand(initial + i));
      targets.push_back(argument);
    }
    transferInto(values, targets);
  }

  void planRegions(const ir::Op &op) {
    const std::vector<std::int32_t> outerLevels = level_;
    if (op.kind != OpKind::If) loops_.push_back(&op);
    for (const ir::Block &region : op.regions) {
      std::ranges::fill(level_, 0);
      planBlock(region, carriedBy(op));
    }
    if (op.kind != OpKind::If) loops_.pop_back();
    level_ = outerLevels;
  }

  void planBlock(const ir::Block &block, llvm::ArrayRef<ValueId> targets) {
    BlockState state;
    state.targets = targets;
    BlockState *outer = std::exchange(state_, &state);
    state.local.insert(block.arguments.begin(), block.arguments.end());
    for (const auto &op : block.ops) {
      state.local.insert(op->results.begin(), op->results.end());
      state.order.emplace(op.get(), state.order.size() + 1);
      if (op->kind == OpKind::Yield) transferInto(op->operands, targets);
      planOp(*op);
    }
    placement_.placeIn(block, state);
    std::vector<Step> all;
    for (std::int32_t number = 1; number <= stepCount(); ++number) {
      for (Step &step : state.before[number]) all.push_back(std::move(step));
      all.push_back(std::move(state[number]));
    }
    plan_.steps[&block] = std::move(all);
    for (const auto &op : block.ops) {
      if (op->kind == OpKind::BreakIf)
        plan_.leaving[op.get()] =
            transfer(llvm::ArrayRef(op->operands).drop_front(), carriedBy(*loops_.back()));
      else if (isControl(*op))
        planRegions(*op);
    }
    state_ = outer;
  }

  void assignOffsets() {
    constexpr std::int64_t kAlignment = 64;
    for (ScratchTile &buffer : plan_.buffers) {
      buffer.offset = plan_.scratchBytes;
      plan_.scratchBytes += (buffer.bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
  }

  const ir::Kernel &kernel_;
  const LaunchTraits &traits_;
  const std::vector<std::int32_t> uses_;
  std::vector<std::int32_t> level_;
  std::vector<const ir::Op *> loops_;
  LoopPlan plan_;
  InlinePlacement placement_;
  BlockState *state_ = nullptr;
};

} // namespace

const FactorInMemory *Step::factorInMemory(size_t operand) const {
  const auto found = std::ranges::find(inMemory, operand, &FactorInMemory::operand);
  return found == inMemory.end() ? nullptr : &*found;
}

std::int64_t scratchElementBytes(const ir::Type &type) {
  if (type.isPointerTile()) return sizeof(void *);
  return std::max(8, storageBits(type.element())) / 8;
}

void LoopPlan::giveBuffer(const ir::Kernel &kernel, ValueId value) {
  if (isTile(kernel, value) && !isKept(value))
    bufferOf[value.index()] = newBuffer(kernel.type(value));
}

BufferId LoopPlan::newBuffer(const ir::Type &type) {
  buffers.push_back({.type = type, .bytes = type.shape().elements() * scratchElementBytes(type)});
  return BufferId(static_cast<std::uint32_t>(buffers.size() - 1));
}

LoopPlan planLoops(const ir::Kernel &kernel, const LaunchTraits &traits) {
  LoopPlan plan = Planner(kernel, traits).run();
  planProducts(plan, kernel, traits);
  planReadAhead(plan, kernel);
  return plan;
}

} // namespace imbrex::host
