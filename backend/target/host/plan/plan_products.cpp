#include "backend/target/host/plan/plan_products.h"

#include "backend/target/host/plan/access.h"
#include "backend/target/host/plan/value_steps.h"

#include <algorithm>

namespace imbrex::host {
namespace {

using ir::OpKind;
using ir::ValueId;

// So many elements of b multiply the sums that are in registers before these are stored: of f32
// half a MiB of panels, which the second-level cache has room for. Storing and loading the sums
// does not show then, and a's rows come from memory in pieces so long that waiting for the first
// lines of each does not show either. Deeper runs gain nothing of few columns, and would want much
// scratch where rows are copied; those of many columns are so deep at least.
constexpr std::int64_t kRunElements = 128 << 10, kLeastDepth = 512, kMostDepth = 2048;

/// How many trips that multiply a tile of b are one product at most.
std::int64_t tripsTogether(const ir::Shape &b) {
  const std::int64_t columns = b[b.rank() - 1];
  const std::int64_t depth = std::clamp(kRunElements / columns, kLeastDepth, kMostDepth);
  return std::max<std::int64_t>(1, depth / b[b.rank() - 2]);
}

class ProductPlanner {
public:
  ProductPlanner(LoopPlan &plan, const ir::Kernel &kernel, const LaunchTraits &traits)
      : plan_(plan), kernel_(kernel), traits_(traits), uses_(countUses(kernel)),
        alongBlocks_(ValueSteps::alongBlocks(kernel)) {}

  void planBlock(const ir::Block &block) {
    std::vector<Step> &steps = plan_.steps.at(&block);
    for (Step &step : steps) {
      const auto number = static_cast<size_t>(&step - steps.data());
      const Steps before = Steps(steps).take_front(number),
                  behind = Steps(steps).drop_front(number + 1);
      if (isProduct(step)) {
        planFactors(step, before);
        planStore(step, step.op->result(), behind);
      }
      if (step.kind != Step::Kind::Control) continue;
      for (const ir::Block &region : step.op->regions) planBlock(region);
      if (step.op->kind == OpKind::For) planSums(step, before, behind);
    }
    std::erase_if(steps, [](const Step &step) {
      return step.kind == Step::Kind::Nest && step.nest.roots.empty();
    });
  }

private:
  using Steps = llvm::MutableArrayRef<Step>;
  using Start = ProductPlan::Start;

  static bool isProduct(const Step &step) {
    return step.kind == Step::Kind::Whole && step.op->kind == OpKind::Dot;
  }

  void planFactors(Step &step, Steps before) {
    const FactorInMemory *b = step.factorInMemory(1);
    step.product.keepsPanels =
        b != nullptr && isOfItsPlace(*b->box.access) && mayStay(*b->box.access);
    if (takeZeros(before, step.op->result())) step.product.start = Start::Always;
  }

  /// Of the products that a loop adds up.
  void planSums(Step &loop, Steps before, Steps behind) {
    for (Step &step : plan_.steps.at(&loop.op->regions[0])) {
      if (!isProduct(step) || !isCarriedBy(*step.op, *loop.op)) continue;
      planStore(step, resultFor(*step.op, *loop.op), behind);
      const FactorInMemory *a = step.factorInMemory(0);
      step.product.trips = tripsTogether(kernel_.type(step.op->operand(1)).shape());
      step.product.adjoins = a != nullptr && adjoinsAlong(*a->box.access, a->box.column, *loop.op);
      const FactorInMemory *b = step.factorInMemory(1);
      const std::optional<size_t> depthOfB = b != nullptr ? b->box.depthOfB() : std::nullopt;
      step.product.adjoinsB = depthOfB && adjoinsAlong(*b->box.access, *depthOfB, *loop.op);
      if (!takeZeros(before, step.op->result())) continue;
      step.product.endsWithFactors = step.product.adjoins && endAlike(step);
      step.product.start = Start::FirstTrip;
      loop.zeros.push_back(plan_.bufferOf[step.op->result().index()]);
    }
  }

  static ValueId resultFor(const ir::Op &dot, const ir::Op &loop) {
    const auto yielded = llvm::ArrayRef(loop.regions[0].ops.back()->operands);
    return loop.result(static_cast<size_t>(llvm::find(yielded, dot.result()) - yielded.begin()));
  }

  /// Of sums that the product, or the loop around it, leaves to a view.store alone.
  void planStore(Step &product, ValueId sums, Steps behind) {
    if (uses_[sums.index()] != 1) return;
    for (Step &step : behind) {
      if (step.kind == Step::Kind::Control || step.kind == Step::Kind::Whole) return;
      const bool isAlone = step.nest.roots.size() == 1;
      const ir::Op *store = isAlone ? step.nest.roots[0].op : nullptr;
      if (store == nullptr || store->kind != OpKind::ViewStore) continue;
      const std::optional<MatrixBox> box = sumsBox(kernel_, uses_, *store, sums);
      if (!box) continue;
      const ir::Op *summed = kernel_.definition(sums);
      if (!canStore(*store, *summed)) return;
      product.product.store = box;
      product.product.storesLast = summed != product.op;
      step.storedBy = summed;
      return;
    }
  }

  /// Whether the sums may go to the store's box as soon as `op` has them.
  bool canStore(const ir::Op &store, const ir::Op &op) const {
    const std::optional<size_t> parameter = rootParameter(kernel_, store.operand(0));
    const bool hasRows =
        parameter && traits_.hasUnitStride(*parameter) && !traits_.overlaps(*parameter);
    const bool isStreamed = store.attrs<ir::ViewAttrs>().cache == ir::Cache::Streaming;
    return hasRows && !isStreamed && !isSeenElsewhere(store) &&
           llvm::all_of(llvm::drop_begin(store.operands, 2),
                        [&](ValueId coordinate) { return isBefore(coordinate, op); });
  }

  /// Whether anything else in the kernel may tell when the store happens: what reads or writes
  /// there, and an assertion, which ends the launch with what stands behind it not done.
  bool isSeenElsewhere(const ir::Op &store) const {
    return ir::firstOp(kernel_.body(), [&](const ir::Op &other) {
             const ir::Effect effect = info(other.kind).effect;
             const bool accesses = effect == ir::Effect::Read || effect == ir::Effect::Write ||
                                   effect == ir::Effect::Atomic;
             return effect == ir::Effect::Observe ||
                    (accesses && &other != &store && mayTouch(kernel_, traits_, other, store));
           }) != nullptr;
  }

  /// Whether the value is there before the op runs. The op is in the block of the value's user.
  bool isBefore(ValueId value, const ir::Op &op) const {
    const ir::Op *made = kernel_.definition(value);
    if (made == nullptr) return true;
    if (made == &op) return false;
    return ir::firstOp(kernel_.body(),
                       [&](const ir::Op &each) { return &each == made || &each == &op; }) == made;
  }

  /// Take away what writes zeros to the value's buffer, if that is the last that writes to it.
  bool takeZeros(Steps before, ValueId value) {
    const BufferId buffer = plan_.bufferOf[value.index()];
    for (Step &step : llvm::reverse(before)) {
      const bool isWritten = step.op && llvm::any_of(step.op->results, [&](ValueId result) {
                               return plan_.bufferOf[result.index()] == buffer;
                             });
      if (isWritten) return false;
      const auto root = llvm::find_if(step.nest.roots, [&](const Root &each) {
        return each.kind == Root::Kind::Keep && each.into == buffer;
      });
      if (root == step.nest.roots.end()) continue;
      const bool isZero =
          constantBits(kernel_, root->value) == 0 && plan_.bufferOf[root->value.index()] != buffer;
      if (isZero) step.nest.roots.erase(root);
      return isZero;
    }
    return false;
  }

  /// Whether nothing in the kernel may write what the load reads.
  bool isConstant(const ir::Op &load) const {
    return ir::firstOp(kernel_.body(), [&](const ir::Op &op) {
             const ir::Effect effect = info(op.kind).effect;
             const bool writes = effect == ir::Effect::Write || effect == ir::Effect::Atomic;
             return op.kind == OpKind::InlineAsm ||
                    (writes && mayTouch(kernel_, traits_, load, op));
           }) == nullptr;
  }

  /// Whether a box that begins at the same place is the same box all through the launch.
  bool isOfItsPlace(const ir::Op &load) const {
    const bool isPaddedAlike = load.attrs<ir::ViewAttrs>().padding != ir::Padding::Value ||
                               constantBits(kernel_, load.operands.back());
    return isPaddedAlike && isConstant(load);
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
    const auto leaves = [](const ir::Op &op) { return info(op.kind).effect == ir::Effect::Leave; };
    return isYielded && uses_[dot.result().index()] == 1 && ir::firstOp(body, leaves) == nullptr;
  }

  /// Whether a and b have zeros behind their ends, and the same place along k.
  bool endAlike(const Step &product) const {
    const FactorInMemory *a = product.factorInMemory(0), *b = product.factorInMemory(1);
    if (b == nullptr) return false;
    const auto &ofA = a->box.access->attrs<ir::ViewAttrs>();
    const auto &ofB = b->box.access->attrs<ir::ViewAttrs>();
    const std::optional<size_t> depthOfB = b->box.depthOfB();
    return ofA.padding == ir::Padding::Zero && ofB.padding == ir::Padding::Zero &&
           ofA.unit == ofB.unit && depthOfB &&
           a->box.access->operand(1 + a->box.column) == b->box.access->operand(1 + *depthOfB);
  }

  /// Whether nothing writes the box, and the next trip's is the one behind it along this axis.
  bool adjoinsAlong(const ir::Op &load, size_t axis, const ir::Op &loop) const {
    if (!isConstant(load)) return false;
    const auto moved = ValueSteps::alongTrips(kernel_, loop).ofLoad(load);
    if (!moved) return false;
    const ir::Shape &box = kernel_.type(load.result()).shape();
    for (size_t each = 0; each < moved->size(); ++each)
      if ((*moved)[each] != (each == axis ? box[static_cast<std::int32_t>(each)] : 0)) return false;
    return true;
  }

  LoopPlan &plan_;
  const ir::Kernel &kernel_;
  const LaunchTraits &traits_;
  const std::vector<std::int32_t> uses_;
  const ValueSteps alongBlocks_;
};

} // namespace

void planProducts(LoopPlan &plan, const ir::Kernel &kernel, const LaunchTraits &traits) {
  if (ir::firstOp(kernel.body(), [](const ir::Op &op) { return op.kind == OpKind::Dot; }))
    ProductPlanner(plan, kernel, traits).planBlock(kernel.body());
}

} // namespace imbrex::host
