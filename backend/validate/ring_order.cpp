#include "backend/validate/ring_order.h"

#include "backend/analysis/ring_copies.h"
#include "backend/layout/box_layout.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <compare>
#include <map>
#include <set>

namespace imbrex {
namespace {

using namespace ir;
using passes::pipeline::KernelSchedule;
using passes::pipeline::TripsKind;
using schedule::ScheduleOp;
using schedule::ScheduleOpKind;
using target::RingEvent;
using target::RingEventKind;

constexpr std::size_t kBeginning = RingOrder::kBeginning, kEnd = RingOrder::kEnd;

/// On what it depends that an op is done.
struct Condition {
  enum class Of : std::uint8_t {
    FirstThread, ///< What one of the threads does for others; which, is known at the start.
    FirstLane,
    Trips, ///< What a guard compares.
    Owner, ///< Of elements that several threads hold: by layout.
  };
  Of of;
  schedule::Guard::Measure measure = {};
  std::size_t number = 0; ///< Of trips or of a layout.
  std::int32_t than = 0;

  bool isOfThread() const { return of == Of::FirstThread || of == Of::FirstLane; }
  friend auto operator<=>(const Condition &, const Condition &) = default;
};
constexpr Condition kFirstThread{.of = Condition::Of::FirstThread};
constexpr Condition kFirstLane{.of = Condition::Of::FirstLane};

Condition conditionOf(const schedule::Guard &guard) {
  return {.of = Condition::Of::Trips,
          .measure = guard.measure,
          .number = guard.trips.index(),
          .than = guard.than};
}

using Conditions = std::set<Condition>;
/// What one op does, and on what it depends that it does.
struct Events {
  std::vector<RingEvent> events;
  Conditions conditions = {};
};

/// The steps of an order while they are written down. Events that depend on conditions are pending
/// until something comes that does not.
class OrderWriter {
public:
  explicit OrderWriter(const machine::AsyncCopies &copies) : copies_(copies) {
    order_.steps.resize(2);
  }

  std::size_t newStep() {
    order_.steps.emplace_back();
    return order_.steps.size() - 1;
  }
  std::size_t step(std::size_t from, std::optional<RingEvent> event = {}, bool isCertain = true) {
    // A copy of a thread's own may be masked; those in the order of lanes are made in any case.
    const bool isMasked = event && event->kind == RingEventKind::Copy && !copies_.areInLaneOrder;
    isCertain &= event && !isMasked && avoidable_ == 0;
    order_.steps.push_back({.event = event, .isCertain = isCertain});
    link(from, order_.steps.size() - 1);
    return order_.steps.size() - 1;
  }
  void link(std::size_t from, std::size_t to) { order_.steps[from].next.push_back(to); }
  void add(Events events) { pending_.push_back(std::move(events)); }

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
      return llvm::all_of(conditions, [](const Condition &one) { return one.isOfThread(); });
    };
    const std::size_t join = newStep();
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

  /// Of a body, if it may turn out not to run.
  void enter(bool isAvoidable) { avoidable_ += isAvoidable; }
  void leave(bool isAvoidable) { avoidable_ -= isAvoidable; }

  RingOrder take() { return std::move(order_); }

protected:
  const machine::AsyncCopies &copies_;

private:
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

  RingOrder order_;
  std::int32_t avoidable_ = 0; // bodies around that may turn out not to run
  std::vector<Events> pending_;
};

class OrderReader : private OrderWriter {
public:
  OrderReader(const KernelSchedule &schedule, const Kernel &kernel, const machine::Machine &machine)
      : OrderWriter(machine.asyncCopies), schedule_(schedule), program_(schedule.program),
        kernel_(kernel), machine_(machine) {}

  RingOrder run() {
    if (countsCopies()) awaitAllAtEnd();
    if (!copies_.areGrouped) leastOfGroup_ = leastCopiesOfGroup();
    std::size_t at = makeBarriers(kBeginning);
    // Of threads that do the same but that one of them loads, the one does what the others do too.
    const auto &first = program_.roles.front().body;
    if (schedule_.areHalves)
      at = halves(first, program_.roles.back().body, at);
    else
      at = rolesOf(kernel_) ? roles(at) : ops(first, at);
    link(flush(at), end_);
    return take();
  }

private:
  bool countsCopies() const {
    return llvm::any_of(schedule_.rings, [&](ValueId ring) {
      return analysis::copiesOf(kernel_, ring, machine_).areInLaneOrder;
    });
  }

  /// Copies that are counted may not outlive their threads.
  void awaitAllAtEnd() {
    end_ = newStep();
    link(step(end_, RingEvent{RingEventKind::Wait, 0}), kEnd);
  }

  /// From a step through operations to the last one, behind which some may be pending.
  std::size_t ops(llvm::ArrayRef<ScheduleOp> body, std::size_t at) {
    while (!body.empty()) {
      const std::size_t bodies = bodiesOfOneIf(body);
      at = bodies > 0 ? branches(body.take_front(bodies), flush(at)) : op(body.front(), at);
      body = body.drop_front(std::max<std::size_t>(bodies, 1));
    }
    return at;
  }

  /// What both do, and the meetings that one of them alone comes to.
  std::size_t halves(llvm::ArrayRef<ScheduleOp> first, llvm::ArrayRef<ScheduleOp> second,
                     std::size_t at) {
    const auto isMeeting = [](const ScheduleOp &op) { return op.kind == ScheduleOpKind::Meet; };
    const auto meets = [&](llvm::ArrayRef<ScheduleOp> body) {
      return !body.empty() && isMeeting(body.front());
    };
    while (!first.empty() || !second.empty()) {
      if (meets(first) != meets(second)) {
        (meets(first) ? first : second).consume_front();
        const std::size_t from = flush(at);
        at = step(step(from, RingEvent{RingEventKind::Meet}));
        link(from, at);
        continue;
      }
      const std::size_t alike = meets(first) ? 1 : first.take_until(isMeeting).size();
      at = ops(first.take_front(alike), at);
      first = first.drop_front(alike);
      second = second.drop_front(alike);
    }
    return at;
  }

  std::size_t op(const ScheduleOp &op, std::size_t at) {
    switch (op.kind) {
    case ScheduleOpKind::If: // of copies alone
      for (const ScheduleOp &inner : op.body)
        if (inner.kind == ScheduleOpKind::Issue) addCopies(inner, {conditionOf(op.guard)});
      return at;
    case ScheduleOpKind::For: return loop(op, flush(at));
    case ScheduleOpKind::Issue: addCopies(op, {}); return at;
    case ScheduleOpKind::Commit:
      return copies_.areGrouped ? step(flush(at), RingEvent{RingEventKind::Commit}) : at;
    case ScheduleOpKind::Drain: return copies_.leastBytes > 0 ? step(flush(at), waitFor(op)) : at;
    case ScheduleOpKind::Meet: return step(flush(at), RingEvent{RingEventKind::Meet});
    case ScheduleOpKind::Copy: addBoxes(op); return at;
    case ScheduleOpKind::Expect: addAnnouncement(op); return at;
    case ScheduleOpKind::Arrive: addArrival(op); return at;
    case ScheduleOpKind::Wait: return step(flush(at), atBarrier(RingEventKind::Await, op));
    case ScheduleOpKind::Advance: return at; // each thread for itself
    case ScheduleOpKind::Access: return op.accesses.empty() ? mayEnd(flush(at)) : at;
    case ScheduleOpKind::Signal:
    case ScheduleOpKind::Fence:
    case ScheduleOpKind::Init:
    case ScheduleOpKind::Reset: break;
    }
    IMBREX_UNREACHABLE("no kernel has '{0}'", schedule::info(op.kind).mnemonic);
  }

  /// An assertion. Of other accesses no code tells that they are to slots.
  std::size_t mayEnd(std::size_t at) {
    link(at, end_);
    return at;
  }

  /// An if that is no condition of copies alone. Copies in the order of lanes are made in any case,
  /// whatever their own condition: what leaves some out is an if of the kernel's.
  bool isBranch(const ScheduleOp &op) const {
    if (op.kind != ScheduleOpKind::If) return false;
    if (copies_.areInLaneOrder && !op.body.empty() && op.where != op.body.front().where)
      return true;
    return !llvm::all_of(op.body, [](const ScheduleOp &inner) {
      return inner.kind == ScheduleOpKind::Issue || inner.kind == ScheduleOpKind::Advance;
    });
  }

  /// How many of the first operations are bodies of one if: none where the first is no such body.
  /// What stands behind an op that may leave a body is one by itself.
  std::size_t bodiesOfOneIf(llvm::ArrayRef<ScheduleOp> body) const {
    if (!isBranch(body[0])) return 0;
    if (isRest(body[0])) return 1;
    std::size_t count = 1;
    while (count < body.size() && isBranch(body[count]) && !isRest(body[count]) &&
           body[count].where == body[0].where)
      ++count;
    return count;
  }

  bool isRest(const ScheduleOp &op) const { return kindOf(op.guard.trips) == TripsKind::Rest; }

  RingEvent waitFor(const ScheduleOp &drain) const {
    std::int64_t count = drain.count;
    if (!copies_.areGrouped) count *= leastOfGroup_;
    count = std::min<std::int64_t>(count, copies_.capacity);
    return {RingEventKind::Wait, static_cast<std::int32_t>(count)};
  }

  /// Where copies are counted, and not their groups: of all groups. Which copies a group has is
  /// read off the program, where lowering asks the kernel; how many one op makes both ask
  /// analysis/ring_copies.h.
  std::int64_t leastCopiesOfGroup() const {
    std::optional<std::int64_t> least;
    for (const schedule::Role &role : program_.roles) findLeastGroup(role.body, least);
    return least.value_or(0);
  }

  /// What stands in front of a body within this one is not counted, which makes a group smaller.
  void findLeastGroup(llvm::ArrayRef<ScheduleOp> body, std::optional<std::int64_t> &least) const {
    std::int64_t count = 0;
    for (const ScheduleOp &op : body) {
      const bool isOfCopies = op.kind == ScheduleOpKind::If && !isBranch(op); // made in any case
      if (isOfCopies)
        for (const ScheduleOp &inner : op.body) count += copiesCountedIn(inner);
      count += copiesCountedIn(op);
      if (!isOfCopies && !op.body.empty()) findLeastGroup(op.body, least), count = 0;
      if (op.kind == ScheduleOpKind::Commit)
        least = std::min(least.value_or(count), count), count = 0;
    }
  }
  std::int64_t copiesCountedIn(const ScheduleOp &op) const {
    if (op.kind != ScheduleOpKind::Issue) return 0;
    const analysis::RingCopies of = analysis::copiesOf(kernel_, ringOf(op), machine_);
    return of.areInLaneOrder ? of.countOfThread() : 0;
  }

  TripsKind kindOf(schedule::TripsId trips) const { return schedule_.trips[trips.index()]; }

  std::size_t loop(const ScheduleOp &op, std::size_t from) {
    const bool isAvoidable = kindOf(op.trips) == TripsKind::LoopWithoutTrips; // all can see that
    const std::size_t head = step(from);
    const std::size_t exit = newStep();
    enter(isAvoidable);
    const std::size_t last = flush(ops(op.body, head));
    leave(isAvoidable);
    link(last, head);
    link(kindOf(op.trips) == TripsKind::LoopWithTrips ? last : head, exit);
    return exit;
  }

  /// The bodies of an if, or what stands behind an op that may leave a body.
  std::size_t branches(llvm::ArrayRef<ScheduleOp> bodies, std::size_t from) {
    const std::size_t join = newStep();
    // A condition may turn out to be constant.
    const bool isAvoidable = !isRest(bodies.front());
    enter(isAvoidable);
    llvm::SmallVector<std::size_t, 2> starts, ends;
    for (const ScheduleOp &body : bodies) {
      starts.push_back(step(from));
      ends.push_back(flush(ops(body.body, starts.back())));
      link(ends.back(), join);
    }
    // A warp whose lanes part runs both bodies, in whatever order, each for some of its lanes.
    for (std::size_t i = 0; i < starts.size(); ++i)
      for (std::size_t k = 0; k < starts.size(); ++k)
        if (i != k) link(ends[i], starts[k]);
    leave(isAvoidable);
    link(from, join); // where no lane needs it
    return join;
  }

  /// A thread runs one of them; of the warps that load, all threads but one do nothing.
  std::size_t roles(std::size_t from) {
    const std::size_t join = newStep();
    for (const schedule::Role &role : program_.roles) {
      isLoadingRole_ = &role == &program_.roles.front();
      link(flush(ops(role.body, step(from))), join);
    }
    link(from, join);
    return join;
  }

  // --- barriers ---

  /// Before all else.
  std::size_t makeBarriers(std::size_t at) {
    if (schedule_.barriers.empty()) return at;
    std::int32_t count = 0;
    std::map<ValueId, BarrierRange> inOrder; // in which lowering makes them
    for (const ValueId value : schedule_.barriers) {
      const std::int32_t slots = kernel_.definition(value)->attrs<BarrierAttrs>().slots;
      barriers_.push_back({.first = count, .slots = slots});
      inOrder[value] = barriers_.back();
      count += slots;
    }
    Events make{.events = {}, .conditions = {kFirstThread}};
    for (const auto &[value, range] : inOrder)
      for (std::int32_t slot = 0; slot < range.slots; ++slot)
        make.events.push_back(
            {.kind = RingEventKind::Make,
             .barrier = range.first + slot,
             .amount = kernel_.definition(value)->attrs<BarrierAttrs>().arrivals});
    make.events.push_back({.kind = RingEventKind::Show});
    add(std::move(make));
    return step(flush(at), RingEvent{RingEventKind::Meet});
  }

  RingEvent atBarrier(RingEventKind kind, const ScheduleOp &op,
                      std::int64_t amount = target::kUntold) const {
    const BarrierRange &of = barriers_[op.barrier.index()];
    return {.kind = kind, .barrier = of.first, .slots = of.slots, .amount = amount};
  }

  void addArrival(const ScheduleOp &op) {
    add({.events = {RingEvent{RingEventKind::Gather}}, .conditions = {}});
    add({.events = {atBarrier(RingEventKind::Arrive, op, 1)}, .conditions = {kFirstLane}});
  }

  Conditions ofLoader() const { return isLoadingRole_ ? Conditions{} : Conditions{kFirstThread}; }

  void addAnnouncement(const ScheduleOp &op) {
    add({.events = {atBarrier(RingEventKind::Expect, op, op.bytes)}, .conditions = ofLoader()});
  }

  ValueId ringOf(const ScheduleOp &op) const {
    return schedule_.rings[op.accesses.front().buffer.index()];
  }

  void addBoxes(const ScheduleOp &op) {
    const Type &type = kernel_.type(ringOf(op));
    const auto boxes = layout::planBoxes(type.shape().extents(), storageBits(type.element()) / 8);
    add({.events = std::vector(static_cast<std::size_t>(boxes->copies),
                               atBarrier(RingEventKind::Box, op)),
         .conditions = ofLoader()});
  }

  // --- copies ---

  void addCopies(const ScheduleOp &op, Conditions conditions) {
    const ValueId ring = ringOf(op);
    const analysis::RingCopies of = analysis::copiesOf(kernel_, ring, machine_);
    if (!of.areAsynchronous) return;
    const auto count = static_cast<std::size_t>(of.countOfThread());
    Events copies{.events = std::vector(count, RingEvent{RingEventKind::Copy}), .conditions = {}};
    if (of.areInLaneOrder) return add(std::move(copies)); // made in any case
    copies.conditions = std::move(conditions);
    const layout::LinearLayout &layout = kernel_.layout(kernel_.layoutOf(ring));
    if (layout::copyBits(layout, layout::Dim::Lane) != 0 ||
        layout::copyBits(layout, layout::Dim::Warp) != 0)
      copies.conditions.insert(
          {.of = Condition::Of::Owner, .number = kernel_.layoutOf(ring).index()});
    add(std::move(copies));
  }

  struct BarrierRange {
    std::int32_t first = 0, slots = 1;
  };

  const KernelSchedule &schedule_;
  const schedule::Program &program_;
  const Kernel &kernel_;
  const machine::Machine &machine_;
  std::size_t end_ = kEnd; // what ways to the end come to
  std::int64_t leastOfGroup_ = 1;
  std::vector<BarrierRange> barriers_;
  bool isLoadingRole_ = false; // which one thread runs
};

} // namespace

RingOrder ringOrderOf(const KernelSchedule &schedule, const Kernel &kernel,
                      const machine::Machine &machine) {
  if (schedule.program.roles.empty()) return {};
  return OrderReader(schedule, kernel, machine).run();
}

} // namespace imbrex
