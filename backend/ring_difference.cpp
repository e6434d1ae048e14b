#include "backend/ring_order.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>

/// Whether each way through the code is one that is meant.
namespace imbrex {
namespace {

using target::RingEvent;
using target::RingEventKind;

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
    enter(0, closure({RingOrder::kBeginning}), {});
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

  /// Here or a few jumps on: what is done under several conditions is behind several jumps.
  bool leadsToGuarded(std::size_t block, int jumps = 2) const {
    const auto isGuarded = [](const RingEvent &event) { return isConditional(event.kind); };
    return has(code_[block], isGuarded) ||
           (jumps > 0 && llvm::any_of(code_[block].next, [&](const auto &edge) {
              return leadsToGuarded(edge.to, jumps - 1);
            }));
  }

  /// Predicates of several jumps around what some threads do: on one way through the code they
  /// decide alike. Those that the code makes true or false are known from there alone.
  void findGuards() {
    std::map<std::string, int> jumps;
    for (const target::CodeBlock &block : code_) {
      std::set<std::string> guards;
      for (const auto &edge : block.next)
        if (!edge.predicate.empty() && leadsToGuarded(edge.to)) guards.insert(edge.predicate);
      for (const std::string &guard : guards) ++jumps[guard];
      for (const auto &[predicate, made] : block.makes) made_.insert(predicate);
    }
    for (const auto &[predicate, count] : jumps)
      if (count > 1 && !made_.contains(predicate)) guards_.insert(predicate);
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
          if (guards_.contains(edge.predicate) || made_.contains(edge.predicate))
            live.insert(edge.predicate);
          live.insert(live_[edge.to].begin(), live_[edge.to].end());
        }
        std::set<std::string> sources;
        for (const auto &[predicate, made] : code_[i].makes)
          if (live.contains(predicate)) sources.insert(made.of);
        for (const std::string &set : code_[i].sets) live.erase(set);
        live.merge(sources);
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
    if (block.ends && !steps.contains(RingOrder::kEnd)) return differ(block, "the end", steps);
    follow(block, steps, way.facts);
  }

  void follow(const target::CodeBlock &block, const Steps &steps, Facts facts) {
    Facts made;
    for (const auto &[predicate, is] : block.makes) {
      const auto known = facts.find(is.of);
      if (is.of.empty())
        made[predicate] = is.isTrue;
      else if (known != facts.end())
        made[predicate] = known->second == is.isTrue;
    }
    for (const std::string &set : block.sets) facts.erase(set);
    facts.merge(made);
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
      if (at == RingOrder::kEnd) meant.insert("the end");
      for (const std::size_t next : meant_.steps[at].next)
        if (const auto &event = meant_.steps[next].event) meant.insert(target::toText(*event));
    }
    difference_ = "it has " + what + " in '" + block.label + "', where there should be " +
                  llvm::join(meant, " or ");
  }

  const RingOrder &meant_;
  const target::CodeGraph &code_;
  std::set<std::string> guards_, made_;
  std::vector<std::set<std::string>> live_; // of these, by block
  Steps done_;                              // that the code does somewhere
  std::set<Way> seen_;
  std::vector<Way> ways_;
  std::optional<std::string> difference_;
};

} // namespace

std::optional<std::string> differenceFrom(const RingOrder &meant, const target::CodeGraph &code) {
  return Comparison(meant, code).run();
}

} // namespace imbrex
