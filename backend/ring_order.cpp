#include "backend/ring_order.h"

#include "backend/lower/ring.h"
#include "backend/passes/rewriting.h"
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
    const std::size_t last = block(kernel_.body(), kBeginning);
    link(flush(last), kEnd);
    return std::move(order_);
  }

private:
  /// The copies of one `ring.copy`, and on what it depends that they are made.
  struct Copies {
    std::int64_t count;
    std::vector<std::string> conditions;
  };

  std::size_t step(std::size_t from, std::optional<RingEvent> event = {}) {
    order_.steps.push_back(
        {.event = event,
         .isCertain = event && event->kind != RingEventKind::Copy && avoidable_ == 0});
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

  std::size_t loop(const Op &op, std::size_t from) {
    // One that runs a constant number of times may not run at all, or be written out.
    const bool isConstant = op.kind == OpKind::For && constantInteger(kernel_, op.operand(0)) &&
                            constantInteger(kernel_, op.operand(1));
    const std::size_t head = step(from);
    order_.steps.emplace_back();
    const std::size_t exit = order_.steps.size() - 1;
    exits_.push_back(exit);
    avoidable_ += isConstant;
    link(flush(block(op.regions[0], head)), head);
    avoidable_ -= isConstant;
    exits_.pop_back();
    if (op.kind == OpKind::For) link(head, exit);
    return exit;
  }

  std::size_t branches(const Op &op, std::size_t from) {
    order_.steps.emplace_back();
    const std::size_t join = order_.steps.size() - 1;
    const bool isAvoidable = op.kind == OpKind::If; // its condition may turn out to be constant
    avoidable_ += isAvoidable;
    for (const Block &region : op.regions) link(flush(block(region, step(from))), join);
    avoidable_ -= isAvoidable;
    if (op.regions.size() < 2) link(from, join);
    return join;
  }

  // --- copies ---

  void addCopies(const Op &op) {
    const ValueId ring = op.operand(0), condition = op.operand(1);
    const lower::RingCopies of = lower::copiesOf(kernel_, ring, machine_);
    if (!of.areAsynchronous) return;
    Copies copies{.count =
                      static_cast<std::int64_t>(of.vectors.registers.size()) / of.vectors.width,
                  .conditions = {}};
    if (of.areInLaneOrder) return pending_.push_back(std::move(copies)); // made in any case
    if (constantBits(kernel_, condition) != std::uint64_t{1})
      copies.conditions.push_back(sourceOf(kernel_, condition));
    const layout::LinearLayout &layout = kernel_.layout(kernel_.layoutOf(ring));
    if (layout::copyBits(layout, layout::Dim::Lane) != 0 ||
        layout::copyBits(layout, layout::Dim::Warp) != 0)
      copies.conditions.push_back("owner of #" + std::to_string(kernel_.layoutOf(ring).index()));
    pending_.push_back(std::move(copies));
  }

  /// The pending copies: for each set of conditions that hold, those that are made then.
  std::size_t flush(std::size_t from) {
    if (pending_.empty()) return from;
    const std::vector<Copies> copies = std::move(pending_);
    pending_.clear();
    std::set<std::string> conditions;
    for (const Copies &one : copies)
      conditions.insert(one.conditions.begin(), one.conditions.end());
    const std::vector<std::string> names(conditions.begin(), conditions.end());
    constexpr std::size_t kMostNames = 6;
    if (names.size() > kMostNames) return apart(copies, from);
    order_.steps.emplace_back();
    const std::size_t join = order_.steps.size() - 1;
    for (std::uint64_t holding = 0; holding < std::uint64_t{1} << names.size(); ++holding) {
      const auto holds = [&](const std::string &name) {
        return (holding >> (llvm::find(names, name) - names.begin()) & 1) != 0;
      };
      std::size_t at = from;
      for (const Copies &one : copies)
        if (llvm::all_of(one.conditions, holds))
          for (std::int64_t i = 0; i < one.count; ++i)
            at = step(at, RingEvent{RingEventKind::Copy});
      link(at, join);
    }
    return join;
  }

  /// The same of too many conditions: each `ring.copy` by itself.
  std::size_t apart(llvm::ArrayRef<Copies> copies, std::size_t at) {
    for (const Copies &one : copies) {
      const std::size_t from = at;
      for (std::int64_t i = 0; i < one.count; ++i) at = step(at, RingEvent{RingEventKind::Copy});
      at = step(at);
      if (!one.conditions.empty()) link(from, at);
    }
    return at;
  }

  const Kernel &kernel_;
  const machine::Machine &machine_;
  const machine::AsyncCopies &copies_;
  RingOrder order_;
  std::vector<std::size_t> exits_; // of the loops around
  std::int32_t avoidable_ = 0;     // bodies around that may turn out not to run
  std::vector<Copies> pending_;
};

using Steps = std::set<std::size_t>;       // that may come next
using Facts = std::map<std::string, bool>; // what predicates are known to be

/// Walks the code with all steps that the meant order may be at.
class Comparison {
public:
  Comparison(const RingOrder &meant, const target::CodeGraph &code) : meant_(meant), code_(code) {
    findGuards();
  }

  std::optional<std::string> run() {
    enter(0, closure({kBeginning}), {});
    while (!ways_.empty() && !difference_) {
      const Way way = std::move(ways_.back());
      ways_.pop_back();
      walk(way);
    }
    if (!difference_ && !hasCopies(code_) && llvm::any_of(meant_.steps, [](const auto &step) {
          return step.event && step.event->kind == RingEventKind::Copy;
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

  static bool hasCopies(llvm::ArrayRef<target::CodeBlock> blocks) {
    return llvm::any_of(blocks, [](const target::CodeBlock &block) {
      return llvm::is_contained(block.events, RingEvent{RingEventKind::Copy});
    });
  }

  /// Predicates of several jumps around copies: on one way through the code they decide alike.
  void findGuards() {
    std::map<std::string, int> jumps;
    for (const target::CodeBlock &block : code_)
      for (const auto &edge : block.next)
        if (!edge.predicate.empty() && hasCopies(code_[edge.to])) ++jumps[edge.predicate];
    for (const auto &[predicate, count] : jumps)
      if (count > 1) guards_.insert(predicate);
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

  /// Behind an event of the code: where the steps lead that mean just this.
  Steps behind(const Steps &steps, const RingEvent &event) {
    Steps found;
    for (const std::size_t at : steps)
      for (const std::size_t next : meant_.steps[at].next) {
        const auto &meant = meant_.steps[next].event;
        const bool isMeant = meant && meant->kind == event.kind && (event.left <= meant->left);
        if (isMeant) found.insert(next);
      }
    done_.insert(found.begin(), found.end());
    return closure(std::move(found));
  }

  void walk(const Way &way) {
    const target::CodeBlock &block = code_[way.block];
    Steps steps = way.steps;
    for (const RingEvent &event : block.events) {
      Steps after = behind(steps, event);
      const bool isWait = event.kind == RingEventKind::Wait;
      for (Steps more = after; isWait && !more.empty();) { // one may be for several
        more = behind(more, event);
        std::erase_if(more, [&](std::size_t step) { return !after.insert(step).second; });
      }
      if (isWait || event.kind == RingEventKind::Meet) after.insert(steps.begin(), steps.end());
      if (after.empty()) return differ(block, target::toText(event), steps);
      steps = std::move(after);
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
      enter(edge.to, steps, std::move(there));
    }
  }

  void enter(std::size_t block, const Steps &steps, Facts facts) {
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
  Steps done_; // that the code does somewhere
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
