#include "backend/support/check.h"
#include "backend/validate/ring_order.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

/// Whether each path through the code is one that is meant.
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
  case RingEventKind::Gather:
  case RingEventKind::Await: return false;
  }
  IMBREX_UNREACHABLE("what is done to a ring is of no kind");
}

using Steps = std::set<std::size_t>;     // that may come next
using Predicate = std::uint32_t;         // the number of its name
using Facts = std::map<Predicate, bool>; // what predicates are known to be
constexpr Predicate kNone = 0;           // the name of what nobody knows

/// What is known on paths that come to one place with the same steps ahead.
enum class StateMerging : std::uint8_t {
  None,    ///< Of many conditions there are as many paths as choices of them.
  Subsume, ///< The same, but for paths whose steps ahead include all of another's, which knows no
           ///< more: what is meant of the other is meant of these.
  Join,    ///< They go on as one, which knows what all of them do.
};

/// Which path is walked next.
enum class WalkOrder : std::uint8_t {
  DepthFirst, ///< The one that was come to last.
  Fair, ///< One at the block from where fewest were walked, so that a few come to all of the code.
};

/// The numbers of names.
class PredicateNumbers {
public:
  Predicate operator()(const std::string &name) {
    return numbers_.try_emplace(name, static_cast<Predicate>(numbers_.size())).first->second;
  }

private:
  std::map<std::string, Predicate> numbers_{{"", kNone}};
};

/// What a block of the code says about predicates, by number.
struct BlockPredicates {
  struct Definition {
    Predicate of;
    bool isTrue;
  };
  std::vector<Predicate> sets = {}, jumps = {}; // by edge
  std::map<Predicate, Definition> makes = {};
};

/// Walks the code with all steps that the meant order may be at.
class Comparison {
public:
  Comparison(const RingOrder &meant, const target::CodeGraph &code) : meant_(meant), code_(code) {
    nameAll();
    findGuards();
    findLive();
  }

  /// Nothing where there are more paths than may be looked at.
  std::optional<std::optional<std::string>> run(StateMerging merging, WalkOrder order,
                                                std::size_t maxStates) {
    merging_ = merging;
    // Of paths that go on as one some are none of the code's: what is done on them need not be done
    // at all.
    if (merging == StateMerging::None) done_.clear();
    seen_.clear(), uncovered_.assign(code_.size(), {}), joined_.clear(), difference_.reset();
    entered_ = 0;
    open_.assign(code_.size(), {}), walked_.assign(code_.size(), 0), blocks_.clear();
    enter(0, closure({RingOrder::kBeginning}), {});
    while (const auto state = takeState(order)) {
      walk(*state);
      if (difference_) break;
      if (entered_ > maxStates) return std::nullopt;
    }
    return difference();
  }

private:
  std::optional<std::string> difference() const {
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

  struct PathState {
    std::size_t block;
    Steps steps;
    Facts facts;
    auto operator<=>(const PathState &) const = default;
  };

  std::optional<PathState> takeState(WalkOrder order) {
    std::optional<std::size_t> at;
    if (order == WalkOrder::DepthFirst && !blocks_.empty()) at = blocks_.back(), blocks_.pop_back();
    for (std::size_t i = 0; i < open_.size() && order == WalkOrder::Fair; ++i)
      if (!open_[i].empty() && (!at || walked_[i] < walked_[*at])) at = i;
    if (!at) return std::nullopt;
    ++walked_[*at];
    PathState state = std::move(open_[*at].back());
    open_[*at].pop_back();
    return state;
  }

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

  void nameAll() {
    PredicateNumbers number;
    for (const target::CodeBlock &block : code_) {
      BlockPredicates &predicates = predicates_.emplace_back();
      for (const std::string &set : block.sets) predicates.sets.push_back(number(set));
      for (const auto &edge : block.next) predicates.jumps.push_back(number(edge.predicate));
      for (const auto &[name, made] : block.makes)
        predicates.makes[number(name)] = {.of = number(made.of), .isTrue = made.isTrue};
    }
  }

  /// Predicates of several jumps around what some threads do: on one path through the code they
  /// decide alike. Those that the code makes true or false are known from there alone.
  void findGuards() {
    std::map<Predicate, int> jumps;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      std::set<Predicate> guards;
      for (const auto &[edge, predicate] : llvm::zip(code_[i].next, predicates_[i].jumps))
        if (predicate != kNone && leadsToGuarded(edge.to)) guards.insert(predicate);
      for (const Predicate guard : guards) ++jumps[guard];
      for (const auto &[predicate, made] : predicates_[i].makes) made_.insert(predicate);
    }
    for (const auto &[predicate, count] : jumps)
      if (count > 1 && !made_.contains(predicate)) guards_.insert(predicate);
  }

  /// Which of them a path from a block's beginning still asks before they are set anew. What is
  /// known of others tells nothing, and would only multiply the paths.
  void findLive() {
    live_.resize(code_.size());
    for (bool changes = true; changes;) {
      changes = false;
      for (std::size_t i = code_.size(); i-- > 0;) {
        std::set<Predicate> live;
        for (const auto &[edge, predicate] : llvm::zip(code_[i].next, predicates_[i].jumps)) {
          if (guards_.contains(predicate) || made_.contains(predicate)) live.insert(predicate);
          live.insert(live_[edge.to].begin(), live_[edge.to].end());
        }
        std::set<Predicate> sources;
        for (const auto &[predicate, made] : predicates_[i].makes)
          if (live.contains(predicate)) sources.insert(made.of);
        for (const Predicate set : predicates_[i].sets) live.erase(set);
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
    if (merging_ != StateMerging::Join) done_.insert(found.begin(), found.end());
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
    const bool isMeeting = event.kind == RingEventKind::Meet || event.kind == RingEventKind::Gather;
    if (isWait || isMeeting) after.insert(steps.begin(), steps.end());
    return after.empty() ? std::nullopt : std::optional(std::move(after));
  }

  void walk(const PathState &state) {
    const target::CodeBlock &block = code_[state.block];
    Steps steps = state.steps;
    Facts facts = state.facts;
    for (const RingEvent &event : block.events) {
      auto after = advance(steps, event);
      if (!after) return differ(block, target::toText(event), steps);
      steps = std::move(*after);
    }
    if (block.ends && !steps.contains(RingOrder::kEnd)) return differ(block, "the end", steps);
    follow(state.block, steps, std::move(facts));
  }

  void follow(std::size_t from, const Steps &steps, Facts facts) {
    const target::CodeBlock &block = code_[from];
    const BlockPredicates &predicates = predicates_[from];
    Facts made;
    for (const auto &[predicate, is] : predicates.makes) {
      const auto known = facts.find(is.of);
      if (is.of == kNone)
        made[predicate] = is.isTrue;
      else if (known != facts.end())
        made[predicate] = known->second == is.isTrue;
    }
    for (const Predicate set : predicates.sets) facts.erase(set);
    facts.merge(made);
    for (const auto &[edge, predicate] : llvm::zip(block.next, predicates.jumps)) {
      const auto known = facts.find(predicate);
      if (known != facts.end() && known->second != edge.holds) continue;
      Facts there = facts;
      if (guards_.contains(predicate)) there[predicate] = edge.holds;
      const auto after = edge.event ? advance(steps, *edge.event) : std::optional(steps);
      if (!after) return differ(block, target::toText(*edge.event), steps);
      enter(edge.to, *after, std::move(there));
    }
  }

  void enter(std::size_t block, const Steps &steps, Facts facts) {
    std::erase_if(facts, [&](const auto &fact) { return !live_[block].contains(fact.first); });
    PathState state{block, steps, std::move(facts)};
    switch (merging_) {
    case StateMerging::None:
      if (seen_.insert(state).second) add(std::move(state));
      return;
    case StateMerging::Subsume: return enterUnlessCovered(std::move(state));
    case StateMerging::Join: return enterJoined(std::move(state));
    }
  }

  /// Whether all that may be done behind the one path is also done behind the other.
  static bool covers(const PathState &one, const PathState &other) {
    return llvm::includes(other.steps, one.steps) && llvm::includes(other.facts, one.facts);
  }

  void enterUnlessCovered(PathState state) {
    std::vector<PathState> &uncovered = uncovered_[state.block];
    if (llvm::any_of(uncovered, [&](const PathState &known) { return covers(known, state); }))
      return;
    std::erase_if(uncovered, [&](const PathState &known) { return covers(state, known); });
    uncovered.push_back(state);
    add(std::move(state));
  }

  void enterJoined(PathState state) {
    const auto [known, isNew] = joined_.try_emplace({state.block, state.steps}, state.facts);
    const auto isUncommon = [&](const auto &fact) {
      const auto same = state.facts.find(fact.first);
      return same == state.facts.end() || same->second != fact.second;
    };
    if (!isNew && std::erase_if(known->second, isUncommon) == 0) return;
    add({state.block, state.steps, known->second});
  }

  void add(PathState state) {
    ++entered_;
    blocks_.push_back(state.block);
    open_[state.block].push_back(std::move(state));
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
  std::vector<BlockPredicates> predicates_; // by block
  std::set<Predicate> guards_, made_;
  std::vector<std::set<Predicate>> live_; // of these, by block
  StateMerging merging_ = StateMerging::None;
  Steps done_; // that the code does somewhere
  std::size_t entered_ = 0;
  std::set<PathState> seen_;
  std::vector<std::vector<PathState>> uncovered_;         // by block
  std::map<std::pair<std::size_t, Steps>, Facts> joined_; // by block and steps
  std::vector<std::vector<PathState>> open_;              // to be walked, by block
  std::vector<std::size_t> blocks_;                       // of these, in the order of coming there
  std::vector<std::size_t> walked_;                       // how many were, by block
  std::optional<std::string> difference_;
};

} // namespace

std::optional<RingDifference> differenceFrom(const RingOrder &meant, const target::CodeGraph &code,
                                             std::size_t maxStates) {
  const auto known = [](std::optional<std::string> what) {
    return what ? std::optional(RingDifference{std::move(*what)}) : std::nullopt;
  };
  Comparison comparison(meant, code);
  if (const auto all = comparison.run(StateMerging::None, WalkOrder::DepthFirst, maxStates))
    return known(*all);
  // Now for what is done on some path; then for all paths.
  if (const auto all = comparison.run(StateMerging::None, WalkOrder::Fair, maxStates))
    return known(*all);
  if (const auto all = comparison.run(StateMerging::Subsume, WalkOrder::DepthFirst, maxStates))
    return known(*all);
  // To know less finds no fewer differences, but may find one that is none.
  const auto all = comparison.run(StateMerging::Join, WalkOrder::DepthFirst, maxStates);
  if (all && !*all) return std::nullopt;
  return RingDifference{.what = all ? **all : "", .isKnown = false};
}

Result<void> checkRings(const RingOrder &meant, const target::CodeGraph &code,
                        std::string_view kernel, std::string_view machine, std::size_t maxStates) {
  if (meant.steps.empty()) return {};
  const auto difference = differenceFrom(meant, code, maxStates);
  if (!difference) return {};
  if (!difference->isKnown) return fail(Diag::CodeNotCompared, {}, kernel, machine, maxStates);
  return fail(Diag::CodeUnlikeSchedule, {}, kernel, machine, difference->what);
}

} // namespace imbrex
