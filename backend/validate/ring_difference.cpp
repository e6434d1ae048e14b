#include "backend/support/check.h"
#include "backend/validate/ring_order.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

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
  case RingEventKind::Gather:
  case RingEventKind::Await: return false;
  }
  IMBREX_UNREACHABLE("what is done to a ring is of no kind");
}

using Steps = std::set<std::size_t>;     // that may come next
using Predicate = std::uint32_t;         // the number of its name
using Facts = std::map<Predicate, bool>; // what predicates are known to be
constexpr Predicate kNone = 0;           // the name of what nobody knows

/// What is known on ways that come to one place with the same steps ahead.
enum class Knowledge : std::uint8_t {
  OfEach,  ///< Of many conditions there are as many ways as choices of them.
  OfLeast, ///< The same, but for ways whose steps ahead include all of another's, which knows no
           ///< more: what is meant of the other is meant of these.
  Common,  ///< They go on as one, which knows what all of them do.
};

/// Which way is walked next.
enum class Order : std::uint8_t {
  Last, ///< The one that was come to last.
  Fair, ///< One at the block from where fewest were walked, so that a few come to all of the code.
};

/// The numbers of names.
class Names {
public:
  Predicate operator()(const std::string &name) {
    return numbers_.try_emplace(name, static_cast<Predicate>(numbers_.size())).first->second;
  }

private:
  std::map<std::string, Predicate> numbers_{{"", kNone}};
};

/// What a block of the code says about predicates, by number.
struct Said {
  struct Made {
    Predicate of;
    bool isTrue;
  };
  std::vector<Predicate> sets = {}, jumps = {}; // by edge
  std::map<Predicate, Made> makes = {};
};

/// Walks the code with all steps that the meant order may be at.
class Comparison {
public:
  Comparison(const RingOrder &meant, const target::CodeGraph &code) : meant_(meant), code_(code) {
    nameAll();
    findGuards();
    findLive();
  }

  /// Nothing where there are more ways than may be looked at.
  std::optional<std::optional<std::string>> run(Knowledge knowledge, Order order,
                                                std::size_t mostWays) {
    knowledge_ = knowledge;
    // Of ways that go on as one some are none of the code's: what is done on them need not be done
    // at all.
    if (knowledge == Knowledge::OfEach) done_.clear();
    seen_.clear(), least_.assign(code_.size(), {}), common_.clear(), difference_.reset();
    entered_ = 0;
    ways_.assign(code_.size(), {}), walked_.assign(code_.size(), 0), blocks_.clear();
    enter(0, closure({RingOrder::kBeginning}), {});
    while (const auto way = takeWay(order)) {
      walk(*way);
      if (difference_) break;
      if (entered_ > mostWays) return std::nullopt;
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

  struct Way {
    std::size_t block;
    Steps steps;
    Facts facts;
    auto operator<=>(const Way &) const = default;
  };

  std::optional<Way> takeWay(Order order) {
    std::optional<std::size_t> at;
    if (order == Order::Last && !blocks_.empty()) at = blocks_.back(), blocks_.pop_back();
    for (std::size_t i = 0; i < ways_.size() && order == Order::Fair; ++i)
      if (!ways_[i].empty() && (!at || walked_[i] < walked_[*at])) at = i;
    if (!at) return std::nullopt;
    ++walked_[*at];
    Way way = std::move(ways_[*at].back());
    ways_[*at].pop_back();
    return way;
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
    Names number;
    for (const target::CodeBlock &block : code_) {
      Said &said = said_.emplace_back();
      for (const std::string &set : block.sets) said.sets.push_back(number(set));
      for (const auto &edge : block.next) said.jumps.push_back(number(edge.predicate));
      for (const auto &[name, made] : block.makes)
        said.makes[number(name)] = {.of = number(made.of), .isTrue = made.isTrue};
    }
  }

  /// Predicates of several jumps around what some threads do: on one way through the code they
  /// decide alike. Those that the code makes true or false are known from there alone.
  void findGuards() {
    std::map<Predicate, int> jumps;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      std::set<Predicate> guards;
      for (const auto &[edge, predicate] : llvm::zip(code_[i].next, said_[i].jumps))
        if (predicate != kNone && leadsToGuarded(edge.to)) guards.insert(predicate);
      for (const Predicate guard : guards) ++jumps[guard];
      for (const auto &[predicate, made] : said_[i].makes) made_.insert(predicate);
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
        std::set<Predicate> live;
        for (const auto &[edge, predicate] : llvm::zip(code_[i].next, said_[i].jumps)) {
          if (guards_.contains(predicate) || made_.contains(predicate)) live.insert(predicate);
          live.insert(live_[edge.to].begin(), live_[edge.to].end());
        }
        std::set<Predicate> sources;
        for (const auto &[predicate, made] : said_[i].makes)
          if (live.contains(predicate)) sources.insert(made.of);
        for (const Predicate set : said_[i].sets) live.erase(set);
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
    if (knowledge_ != Knowledge::Common) done_.insert(found.begin(), found.end());
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

  void walk(const Way &way) {
    const target::CodeBlock &block = code_[way.block];
    Steps steps = way.steps;
    Facts facts = way.facts;
    for (const RingEvent &event : block.events) {
      auto after = advance(steps, event);
      if (!after) return differ(block, target::toText(event), steps);
      steps = std::move(*after);
    }
    if (block.ends && !steps.contains(RingOrder::kEnd)) return differ(block, "the end", steps);
    follow(way.block, steps, std::move(facts));
  }

  void follow(std::size_t from, const Steps &steps, Facts facts) {
    const target::CodeBlock &block = code_[from];
    const Said &said = said_[from];
    Facts made;
    for (const auto &[predicate, is] : said.makes) {
      const auto known = facts.find(is.of);
      if (is.of == kNone)
        made[predicate] = is.isTrue;
      else if (known != facts.end())
        made[predicate] = known->second == is.isTrue;
    }
    for (const Predicate set : said.sets) facts.erase(set);
    facts.merge(made);
    for (const auto &[edge, predicate] : llvm::zip(block.next, said.jumps)) {
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
    Way way{block, steps, std::move(facts)};
    switch (knowledge_) {
    case Knowledge::OfEach:
      if (seen_.insert(way).second) add(std::move(way));
      return;
    case Knowledge::OfLeast: return enterIfLeast(std::move(way));
    case Knowledge::Common: return enterInCommon(std::move(way));
    }
  }

  /// Whether all that may be done behind the one way is also done behind the other.
  static bool isPartOf(const Way &one, const Way &other) {
    return llvm::includes(other.steps, one.steps) && llvm::includes(other.facts, one.facts);
  }

  void enterIfLeast(Way way) {
    std::vector<Way> &least = least_[way.block];
    if (llvm::any_of(least, [&](const Way &known) { return isPartOf(known, way); })) return;
    std::erase_if(least, [&](const Way &known) { return isPartOf(way, known); });
    least.push_back(way);
    add(std::move(way));
  }

  void enterInCommon(Way way) {
    const auto [known, isNew] = common_.try_emplace({way.block, way.steps}, way.facts);
    const auto isUncommon = [&](const auto &fact) {
      const auto same = way.facts.find(fact.first);
      return same == way.facts.end() || same->second != fact.second;
    };
    if (!isNew && std::erase_if(known->second, isUncommon) == 0) return;
    add({way.block, way.steps, known->second});
  }

  void add(Way way) {
    ++entered_;
    blocks_.push_back(way.block);
    ways_[way.block].push_back(std::move(way));
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
  std::vector<Said> said_; // by block
  std::set<Predicate> guards_, made_;
  std::vector<std::set<Predicate>> live_; // of these, by block
  Knowledge knowledge_ = Knowledge::OfEach;
  Steps done_; // that the code does somewhere
  std::size_t entered_ = 0;
  std::set<Way> seen_;
  std::vector<std::vector<Way>> least_;                   // by block
  std::map<std::pair<std::size_t, Steps>, Facts> common_; // by block and steps
  std::vector<std::vector<Way>> ways_;                    // to be walked, by block
  std::vector<std::size_t> blocks_;                       // of these, in the order of coming there
  std::vector<std::size_t> walked_;                       // how many were, by block
  std::optional<std::string> difference_;
};

} // namespace

std::optional<RingDifference> differenceFrom(const RingOrder &meant, const target::CodeGraph &code,
                                             std::size_t mostWays) {
  const auto known = [](std::optional<std::string> what) {
    return what ? std::optional(RingDifference{std::move(*what)}) : std::nullopt;
  };
  Comparison comparison(meant, code);
  if (const auto all = comparison.run(Knowledge::OfEach, Order::Last, mostWays)) return known(*all);
  // Now for what is done on some way; then for all ways.
  if (const auto all = comparison.run(Knowledge::OfEach, Order::Fair, mostWays)) return known(*all);
  if (const auto all = comparison.run(Knowledge::OfLeast, Order::Last, mostWays))
    return known(*all);
  // To know less finds no fewer differences, but may find one that is none.
  const auto all = comparison.run(Knowledge::Common, Order::Last, mostWays);
  if (all && !*all) return std::nullopt;
  return RingDifference{.what = all ? **all : "", .isKnown = false};
}

Result<void> checkRings(const RingOrder &meant, const target::CodeGraph &code,
                        std::string_view kernel, std::string_view machine, std::size_t mostWays) {
  if (meant.steps.empty()) return {};
  const auto difference = differenceFrom(meant, code, mostWays);
  if (!difference) return {};
  if (!difference->isKnown) return fail(Diag::CodeNotCompared, {}, kernel, machine, mostWays);
  return fail(Diag::CodeUnlikeSchedule, {}, kernel, machine, difference->what);
}

} // namespace imbrex
