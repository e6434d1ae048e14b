#include "backend/validate/ring_order.h"

#include "backend/analysis/ring_copies.h"
#include "backend/layout/box_layout.h"
#include "backend/passes/rewriting.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>
#include <set>

namespace imbrex {
namespace {

using namespace ir;
using target::RingEvent;
using target::RingEventKind;

constexpr std::size_t kBeginning = RingOrder::kBeginning, kEnd = RingOrder::kEnd;

/// What one of the threads does for others; which, is known at the start.
constexpr const char *kFirstThread = "the first thread", *kFirstLane = "the first lane";

/// What makes a value, as text: equal texts are equal values.
std::string sourceOf(const Kernel &kernel, ValueId value) {
  const Op *op = kernel.definition(value);
  const bool isComputed = op && llvm::is_contained({OpKind::Sub, OpKind::Bitcast, OpKind::Select,
                                                    OpKind::Lt, OpKind::Gt, OpKind::Add},
                                                   op->kind);
  if (const auto bits = constantBits(kernel, value)) return "#" + std::to_string(*bits);
  if (!isComputed) return "%" + std::to_string(value.index());
  std::string text(info(op->kind).mnemonic);
  for (const ValueId operand : op->operands) text += "(" + sourceOf(kernel, operand) + ")";
  return text;
}

class OrderReader {
public:
  OrderReader(const Kernel &kernel, const machine::Machine &machine)
      : kernel_(kernel), machine_(machine), copies_(machine.asyncCopies) {}

  RingOrder run() {
    order_.steps.resize(2);
    if (countsCopies()) awaitAllAtEnd();
    const std::size_t last = block(kernel_.body(), makeBarriers(kBeginning));
    link(flush(last), end_);
    return std::move(order_);
  }

private:
  using Conditions = std::set<std::string>;
  /// What one op does, and on what it depends that it does.
  struct Events {
    std::vector<RingEvent> events;
    Conditions conditions = {};
  };

  bool countsCopies() const {
    return llvm::any_of(kernel_.body().ops, [&](const auto &op) {
      return op->kind == OpKind::RingNew &&
             analysis::copiesOf(kernel_, op->result(), machine_).areInLaneOrder;
    });
  }

  /// Copies that are counted may not outlive their threads.
  void awaitAllAtEnd() {
    order_.steps.emplace_back();
    end_ = order_.steps.size() - 1;
    link(step(end_, RingEvent{RingEventKind::Wait, 0}), kEnd);
  }

  std::size_t step(std::size_t from, std::optional<RingEvent> event = {}, bool isCertain = true) {
    isCertain &= event && event->kind != RingEventKind::Copy && avoidable_ == 0;
    order_.steps.push_back({.event = event, .isCertain = isCertain});
    link(from, order_.steps.size() - 1);
    return order_.steps.size() - 1;
  }
  void link(std::size_t from, std::size_t to) { order_.steps[from].next.push_back(to); }

  /// From a step through a block's ops to the last one, behind which copies may be pending.
  std::size_t block(const Block &body, std::size_t at) {
    for (const auto &op : body.ops) at = this->op(*op, at);
    return at;
  }

  std::size_t op(const Op &op, std::size_t at) {
    if (const auto sync = syncOp(op.kind)) return this->sync(*sync, op, at);
    const auto is = [&](OpKind kind) { return op.kind == kind; };
    if (is(OpKind::For) || is(OpKind::While)) return loop(op, flush(at));
    // A thread runs one of the bodies of roles, as of an if.
    if (is(OpKind::If) || is(OpKind::Roles)) return branches(op, flush(at));
    if (!is(OpKind::BreakIf) && !is(OpKind::ExitIf) && !is(OpKind::Assert)) return at;
    at = flush(at);
    link(at, is(OpKind::BreakIf) ? exits_.back() : end_);
    return at;
  }

  std::size_t sync(SyncOp kind, const Op &op, std::size_t at) {
    switch (kind) {
    case SyncOp::RingNew:
    case SyncOp::BarrierNew: // before all else
    case SyncOp::RingSlot: return at;
    case SyncOp::RingCopy:
    case SyncOp::RingCopyBox: addCopies(op); return at;
    case SyncOp::RingCommit:
      return copies_.areGrouped ? step(flush(at), RingEvent{RingEventKind::Commit}) : at;
    case SyncOp::RingDrain: return copies_.leastBytes > 0 ? step(flush(at), waitFor(op)) : at;
    case SyncOp::Meet: return step(flush(at), RingEvent{RingEventKind::Meet});
    case SyncOp::RingLoadBox: addBoxes(op); return at;
    case SyncOp::BarrierExpect: addAnnouncement(op); return at;
    case SyncOp::BarrierArrive: addArrival(op); return at;
    case SyncOp::BarrierWait: return step(flush(at), atBarrier(RingEventKind::Await, op, 0));
    }
    IMBREX_UNREACHABLE("not an op of synchronisation");
  }

  RingEvent waitFor(const Op &drain) const {
    std::int64_t count = drain.attrs<CountAttrs>().count;
    if (!copies_.areGrouped) count *= analysis::leastCopiesOfGroup(kernel_, machine_);
    count = std::min<std::int64_t>(count, copies_.capacity);
    return {RingEventKind::Wait, static_cast<std::int32_t>(count)};
  }

  /// Of a loop whose bounds and step are constants: whether it has trips.
  std::optional<bool> hasTrips(const Op &loop) const {
    if (loop.kind != OpKind::For) return std::nullopt;
    const auto low = constantInteger(kernel_, loop.operand(0));
    const auto high = constantInteger(kernel_, loop.operand(1));
    const auto step = constantInteger(kernel_, loop.operand(2));
    if (!low || !high || !step) return std::nullopt;
    return *step > 0 ? *low < *high : *step < 0 && *low > *high;
  }

  std::size_t loop(const Op &op, std::size_t from) {
    const std::optional<bool> hasTrips = this->hasTrips(op);
    const std::size_t head = step(from);
    order_.steps.emplace_back();
    const std::size_t exit = order_.steps.size() - 1;
    exits_.push_back(exit);
    avoidable_ += hasTrips == false; // all can see that, and leave it out
    const std::size_t last = flush(block(op.regions[0], head));
    avoidable_ -= hasTrips == false;
    exits_.pop_back();
    link(last, head);
    if (op.kind == OpKind::For) link(hasTrips == true ? last : head, exit);
    return exit;
  }

  std::size_t branches(const Op &op, std::size_t from) {
    order_.steps.emplace_back();
    const std::size_t join = order_.steps.size() - 1;
    const bool isIf = op.kind == OpKind::If;
    avoidable_ += isIf; // its condition may turn out to be constant
    llvm::SmallVector<std::size_t, 2> starts, ends;
    for (const Block &region : op.regions) {
      if (op.kind == OpKind::Roles) isLoadingRole_ = &region == &op.regions.front();
      starts.push_back(step(from));
      ends.push_back(flush(block(region, starts.back())));
      link(ends.back(), join);
    }
    // A warp whose lanes part runs both bodies, in whatever order, each for some of its lanes.
    if (isIf && starts.size() == 2)
      for (const std::size_t i : {0U, 1U}) link(ends[i], starts[1 - i]);
    avoidable_ -= isIf;
    // A body may be jumped around where no lane needs it; and of the warps that load, all threads
    // but one do nothing.
    link(from, join);
    return join;
  }

  // --- barriers ---

  /// Before all else; the values are in the order in which the barriers are made.
  std::size_t makeBarriers(std::size_t at) {
    std::map<ValueId, std::int32_t> arrivals;
    std::int32_t count = 0;
    walk(kernel_.body(), [&](const Op &op) {
      if (op.kind != OpKind::BarrierNew) return;
      const auto &attrs = op.attrs<BarrierAttrs>();
      barriers_[op.result()] = {.first = count, .slots = attrs.slots};
      arrivals[op.result()] = attrs.arrivals;
      count += attrs.slots;
    });
    if (barriers_.empty()) return at;
    Events make{.events = {}, .conditions = {kFirstThread}};
    for (const auto &[value, barriers] : barriers_)
      for (std::int32_t slot = 0; slot < barriers.slots; ++slot)
        make.events.push_back({.kind = RingEventKind::Make,
                               .barrier = barriers.first + slot,
                               .amount = arrivals[value]});
    make.events.push_back({.kind = RingEventKind::Show});
    pending_.push_back(std::move(make));
    return step(flush(at), RingEvent{RingEventKind::Meet});
  }

  RingEvent atBarrier(RingEventKind kind, const Op &op, std::size_t operand,
                      std::int64_t amount = target::kUntold) const {
    const BarrierRange &of = barriers_.at(op.operand(operand));
    return {.kind = kind, .barrier = of.first, .slots = of.slots, .amount = amount};
  }

  void addArrival(const Op &op) {
    pending_.push_back({.events = {RingEvent{RingEventKind::Gather}}, .conditions = {}});
    pending_.push_back(
        {.events = {atBarrier(RingEventKind::Arrive, op, 0, 1)}, .conditions = {kFirstLane}});
  }

  Conditions ofLoader() const { return isLoadingRole_ ? Conditions{} : Conditions{kFirstThread}; }

  void addAnnouncement(const Op &op) {
    const std::int64_t bytes = op.attrs<BytesAttrs>().bytes;
    pending_.push_back(
        {.events = {atBarrier(RingEventKind::Expect, op, 0, bytes)}, .conditions = ofLoader()});
  }

  void addBoxes(const Op &op) {
    const Type &type = kernel_.type(op.operand(0));
    const auto boxes = layout::planBoxes(type.shape().extents(), storageBits(type.element()) / 8);
    pending_.push_back({.events = std::vector(static_cast<std::size_t>(boxes->copies),
                                              atBarrier(RingEventKind::Box, op, 1)),
                        .conditions = ofLoader()});
  }

  // --- copies ---

  void addCopies(const Op &op) {
    const ValueId ring = op.operand(0), condition = op.operand(1);
    const analysis::RingCopies of = analysis::copiesOf(kernel_, ring, machine_);
    if (!of.areAsynchronous) return;
    const auto count = of.vectors.registers.size() / static_cast<std::size_t>(of.vectors.width);
    Events copies{.events = std::vector(count, RingEvent{RingEventKind::Copy}), .conditions = {}};
    if (of.areInLaneOrder) return pending_.push_back(std::move(copies)); // made in any case
    if (constantBits(kernel_, condition) != std::uint64_t{1})
      copies.conditions.insert(sourceOf(kernel_, condition));
    const layout::LinearLayout &layout = kernel_.layout(kernel_.layoutOf(ring));
    if (layout::copyBits(layout, layout::Dim::Lane) != 0 ||
        layout::copyBits(layout, layout::Dim::Warp) != 0)
      copies.conditions.insert("owner of #" + std::to_string(kernel_.layoutOf(ring).index()));
    pending_.push_back(std::move(copies));
  }

  /// What is pending: for each choice of the sets of conditions that hold, what is done then.
  std::size_t flush(std::size_t from) {
    if (pending_.empty()) return from;
    const std::vector<Events> pending = std::move(pending_);
    pending_.clear();
    // The code may compute a condition that is another one and more as one of its own, and nothing
    // tells that it implies the other: each set is taken to hold or not by itself.
    std::set<Conditions> different;
    for (const Events &one : pending)
      if (!one.conditions.empty()) different.insert(one.conditions);
    const std::vector<Conditions> sets(different.begin(), different.end());
    constexpr std::size_t kMostSets = 6;
    if (sets.size() > kMostSets) return apart(pending, from);
    const auto isOfThread = [](const Conditions &conditions) {
      return llvm::all_of(conditions, [](const std::string &name) {
        return name == kFirstThread || name == kFirstLane;
      });
    };
    order_.steps.emplace_back();
    const std::size_t join = order_.steps.size() - 1;
    const std::uint64_t all = std::uint64_t{1} << sets.size();
    for (std::uint64_t holding = 0; holding < all; ++holding) {
      const auto holds = [&](const Conditions &of) {
        return of.empty() || (holding >> (llvm::find(sets, of) - sets.begin()) & 1) != 0;
      };
      const bool isCertain = holding + 1 == all && llvm::all_of(sets, isOfThread);
      std::size_t at = from;
      for (const Events &one : pending)
        if (holds(one.conditions))
          for (const RingEvent &event : one.events) at = step(at, event, isCertain);
      link(at, join);
    }
    return join;
  }

  /// The same of too many conditions: each op by itself.
  std::size_t apart(llvm::ArrayRef<Events> pending, std::size_t at) {
    for (const Events &one : pending) {
      const std::size_t from = at;
      for (const RingEvent &event : one.events) at = step(at, event, one.conditions.empty());
      at = step(at);
      if (!one.conditions.empty()) link(from, at);
    }
    return at;
  }

  struct BarrierRange {
    std::int32_t first = 0, slots = 1;
  };

  const Kernel &kernel_;
  const machine::Machine &machine_;
  const machine::AsyncCopies &copies_;
  RingOrder order_;
  std::size_t end_ = kEnd;         // what ways to the end come to
  std::vector<std::size_t> exits_; // of the loops around
  std::int32_t avoidable_ = 0;     // bodies around that may turn out not to run
  std::vector<Events> pending_;
  std::map<ValueId, BarrierRange> barriers_;
  bool isLoadingRole_ = false; // which one thread runs
};

} // namespace

RingOrder ringOrderOf(const Kernel &kernel, const machine::Machine &machine) {
  return OrderReader(kernel, machine).run();
}

} // namespace imbrex
