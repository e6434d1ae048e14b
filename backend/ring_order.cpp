#include "backend/ring_order.h"

#include "backend/layout/box_layout.h"
#include "backend/lower/ring.h"
#include "backend/passes/rewriting.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>
#include <set>

namespace imbrex {
namespace {

using namespace ir;
using target::RingEvent;
using target::RingEventKind;

constexpr std::size_t kBeginning = 0, kEnd = 1; // of the steps

/// What one of the threads does for others; which, is known at the start.
constexpr const char *kFirstThread = "the first thread", *kFirstLane = "the first lane";

/// Whether there may be a jump around it, for another thread or in another trip.
bool isConditional(RingEventKind kind) {
  switch (kind) {
  case RingEventKind::Copy:
  case RingEventKind::Make:
  case RingEventKind::Show:
  case RingEventKind::Arrive:
  case RingEventKind::Expect:
  case RingEventKind::Box: return true;
  case RingEventKind::Commit:
  case RingEventKind::Wait:
  case RingEventKind::Meet:
  case RingEventKind::Await: return false;
  }
  IMBREX_UNREACHABLE("what is done to a ring is of no kind");
}

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
    const std::size_t last = block(kernel_.body(), makeBarriers(kBeginning));
    link(flush(last), kEnd);
    return std::move(order_);
  }

private:
  using Conditions = std::set<std::string>;
  /// What one op does, and on what it depends that it does.
  struct Events {
    std::vector<RingEvent> events;
    Conditions conditions = {};
  };

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
    const auto is = [&](OpKind kind) { return op.kind == kind; };
    if (is(OpKind::RingCopy) || is(OpKind::RingCopyBox)) return addCopies(op), at;
    if (is(OpKind::RingCommit) && copies_.areGrouped)
      return step(flush(at), RingEvent{RingEventKind::Commit});
    if (is(OpKind::RingDrain) && copies_.leastBytes > 0) return step(flush(at), waitFor(op));
    if (is(OpKind::Meet)) return step(flush(at), RingEvent{RingEventKind::Meet});
    if (is(OpKind::BarrierWait)) return step(flush(at), atBarrier(RingEventKind::Await, op, 0));
    if (is(OpKind::BarrierArrive)) return addArrival(op), at;
    if (is(OpKind::BarrierExpect)) return addAnnouncement(op), at;
    if (is(OpKind::RingLoadBox)) return addBoxes(op), at;
    if (is(OpKind::For) || is(OpKind::While)) return loop(op, flush(at));
    // A thread runs one of the bodies of roles, as of an if.
    if (is(OpKind::If) || is(OpKind::Roles)) return branches(op, flush(at));
    if (!is(OpKind::BreakIf) && !is(OpKind::ExitIf)) return at;
    at = flush(at);
    link(at, is(OpKind::BreakIf) ? exits_.back() : kEnd);
    return at;
  }

  RingEvent waitFor(const Op &drain) const {
    std::int64_t count = drain.attrs<CountAttrs>().count;
    if (!copies_.areGrouped) count *= lower::leastCopiesOfGroup(kernel_, machine_);
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
    const lower::RingCopies of = lower::copiesOf(kernel_, ring, machine_);
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
  std::vector<std::size_t> exits_; // of the loops around
  std::int32_t avoidable_ = 0;     // bodies around that may turn out not to run
  std::vector<Events> pending_;
  std::map<ValueId, BarrierRange> barriers_;
  bool isLoadingRole_ = false; // which one thread runs
};

using Steps = std::set<std::size_t>;       // that may come next
using Facts = std::map<std::string, bool>; // what predicates are known to be

/// Walks the code with all steps that the meant order may be at.
class Comparison {
public:
  Comparison(const RingOrder &meant, const target::CodeGraph &code) : meant_(meant), code_(code) {
    findGuards();
    findLive();
  }

  std::optional<std::string> run() {
    enter(0, closure({kBeginning}), {});
    while (!ways_.empty() && !difference_) {
      const Way way = std::move(ways_.back());
      ways_.pop_back();
      walk(way);
    }
    const auto isCopy = [](const RingEvent &event) { return event.kind == RingEventKind::Copy; };
    if (!difference_ && !has(code_, isCopy) && llvm::any_of(meant_.steps, [&](const auto &step) {
          return step.event && isCopy(*step.event);
        }))
      return "none of the copies is there";
    if (!difference_)
      for (std::size_t i = 0; i < meant_.steps.size(); ++i)
        if (meant_.steps[i].isCertain && !done_.contains(i))
          return target::toText(*meant_.steps[i].event) + " that should be there is not";
    return difference_;
  }

private:
  struct Way {
    std::size_t block;
    Steps steps;
    Facts facts;
    auto operator<=>(const Way &) const = default;
  };

  template <class Is>
  static bool has(llvm::ArrayRef<target::CodeBlock> blocks, const Is &is) {
    return llvm::any_of(
        blocks, [&](const target::CodeBlock &block) { return llvm::any_of(block.events, is); });
  }

  /// Predicates of several jumps around what some threads do: on one way through the code they
  /// decide alike.
  void findGuards() {
    const auto isGuarded = [](const RingEvent &event) { return isConditional(event.kind); };
    std::map<std::string, int> jumps;
    for (const target::CodeBlock &block : code_)
      for (const auto &edge : block.next)
        if (!edge.predicate.empty() && has(code_[edge.to], isGuarded)) ++jumps[edge.predicate];
    for (const auto &[predicate, count] : jumps)
      if (count > 1) guards_.insert(predicate);
  }

  /// Which of them a way from a block's beginning still asks before they are set anew. What is
  /// known of others tells nothing, and would only multiply the ways.
  void findLive() {
    live_.resize(code_.size());
    for (bool changes = true; changes;) {
      changes = false;
      for (std::size_t i = code_.size(); i-- > 0;) {
        std::set<std::string> live;
        for (const auto &edge : code_[i].next) {
          if (guards_.contains(edge.predicate)) live.insert(edge.predicate);
          live.insert(live_[edge.to].begin(), live_[edge.to].end());
        }
        for (const std::string &set : code_[i].sets) live.erase(set);
        changes |= live != live_[i];
        live_[i] = std::move(live);
      }
    }
  }

  Steps closure(Steps steps) const {
    std::vector<std::size_t> open(steps.begin(), steps.end());
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const std::size_t next : meant_.steps[at].next)
        if (!meant_.steps[next].event && steps.insert(next).second) open.push_back(next);
    }
    return steps;
  }

  /// Whether the code's event, as far as it tells, is this one or a stronger one.
  static bool isMeant(const RingEvent &event, const RingEvent &meant) {
    const std::int32_t slot = event.barrier - meant.barrier;
    const bool isThere = event.barrier == target::kUntold || meant.barrier == target::kUntold ||
                         (slot >= 0 && slot < meant.slots);
    const bool isSoMuch = event.amount == target::kUntold || event.amount == meant.amount;
    return event.kind == meant.kind && event.left <= meant.left && isThere && isSoMuch;
  }

  /// Behind an event of the code: where the steps lead that mean just this.
  Steps behind(const Steps &steps, const RingEvent &event) {
    Steps found;
    for (const std::size_t at : steps)
      for (const std::size_t next : meant_.steps[at].next)
        if (meant_.steps[next].event && isMeant(event, *meant_.steps[next].event))
          found.insert(next);
    done_.insert(found.begin(), found.end());
    return closure(std::move(found));
  }

  /// The same, of what may be done more often; nothing where the event is not meant.
  std::optional<Steps> advance(const Steps &steps, const RingEvent &event) {
    Steps after = behind(steps, event);
    const bool isWait = event.kind == RingEventKind::Wait;
    for (Steps more = after; isWait && !more.empty();) { // one may be for several
      more = behind(more, event);
      std::erase_if(more, [&](std::size_t step) { return !after.insert(step).second; });
    }
    if (isWait || event.kind == RingEventKind::Meet) after.insert(steps.begin(), steps.end());
    return after.empty() ? std::nullopt : std::optional(std::move(after));
  }

  void walk(const Way &way) {
    const target::CodeBlock &block = code_[way.block];
    Steps steps = way.steps;
    for (const RingEvent &event : block.events) {
      auto after = advance(steps, event);
      if (!after) return differ(block, target::toText(event), steps);
      steps = std::move(*after);
    }
    if (block.ends && !steps.contains(kEnd)) return differ(block, "the end", steps);
    follow(block, steps, way.facts);
  }

  void follow(const target::CodeBlock &block, const Steps &steps, Facts facts) {
    for (const std::string &set : block.sets) facts.erase(set);
    for (const auto &edge : block.next) {
      const auto known = facts.find(edge.predicate);
      if (known != facts.end() && known->second != edge.holds) continue;
      Facts there = facts;
      if (guards_.contains(edge.predicate)) there[edge.predicate] = edge.holds;
      const auto after = edge.event ? advance(steps, *edge.event) : std::optional(steps);
      if (!after) return differ(block, target::toText(*edge.event), steps);
      enter(edge.to, *after, std::move(there));
    }
  }

  void enter(std::size_t block, const Steps &steps, Facts facts) {
    std::erase_if(facts, [&](const auto &fact) { return !live_[block].contains(fact.first); });
    Way way{block, steps, std::move(facts)};
    if (seen_.insert(way).second) ways_.push_back(std::move(way));
  }

  void differ(const target::CodeBlock &block, const std::string &what, const Steps &steps) {
    std::set<std::string> meant;
    for (const std::size_t at : steps) {
      if (at == kEnd) meant.insert("the end");
      for (const std::size_t next : meant_.steps[at].next)
        if (const auto &event = meant_.steps[next].event) meant.insert(target::toText(*event));
    }
    difference_ = "it has " + what + " in '" + block.label + "', where there should be " +
                  llvm::join(meant, " or ");
  }

  const RingOrder &meant_;
  const target::CodeGraph &code_;
  std::set<std::string> guards_;
  std::vector<std::set<std::string>> live_; // of the guards, by block
  Steps done_;                              // that the code does somewhere
  std::set<Way> seen_;
  std::vector<Way> ways_;
  std::optional<std::string> difference_;
};

} // namespace

RingOrder ringOrderOf(const Kernel &kernel, const machine::Machine &machine) {
  return OrderReader(kernel, machine).run();
}

std::optional<std::string> differenceFrom(const RingOrder &meant, const target::CodeGraph &code) {
  return Comparison(meant, code).run();
}

} // namespace imbrex
