#include "backend/schedule/blocks/required_waits.h"

#include <algorithm>
#include <functional>
#include <ranges>

namespace imbrex::schedule {

namespace {

using Halves = std::vector<std::span<const MmaBlock>>;

/// Trips after which all that a wait can ask about has been issued: a load is read one trip later
/// at the latest, and every fragment load is issued again in each trip.
constexpr std::size_t kTripsToRepeat = 2;

/// What a block does, in its order, as far as the counters can tell.
struct CounterStep {
  enum Kind : std::uint8_t { GlobalLoad, FragmentLoad, DrainFragments, PreSync } kind;
  const OpDesc *op = nullptr;
};

void addLoads(std::vector<CounterStep> &steps, const MmaBlock &block) {
  const auto add = [&](CounterStep::Kind kind, const std::optional<OpDesc> &op) {
    if (op) steps.push_back({kind, &*op});
  };
  const auto fragments = [&] {
    add(CounterStep::FragmentLoad, block.preOp0);
    add(CounterStep::FragmentLoad, block.preOp1);
  };
  // Where the drain is among the global loads does not matter: they are in another counter.
  if (!block.globalBeforeFrag) fragments();
  if (block.drainLgkmBeforeLoads) steps.push_back({CounterStep::DrainFragments});
  add(CounterStep::GlobalLoad, block.globalLoad);
  add(CounterStep::GlobalLoad, block.globalLoad1);
  if (block.globalBeforeFrag) fragments();
}

bool drainsBeforeMma(const MmaBlock &block) {
  return block.preMmaBarrier && block.postBarrierLgkm && !block.barrierBeforePreOps;
}

std::vector<CounterStep> stepsOf(const MmaBlock &block) {
  std::vector<CounterStep> steps;
  if (!block.barrierBeforePreOps) addLoads(steps, block);
  steps.push_back({CounterStep::PreSync});
  if (block.preMmaBarrier && block.postBarrierLgkm) steps.push_back({CounterStep::DrainFragments});
  if (block.barrierBeforePreOps) addLoads(steps, block);
  return steps;
}

/// Of the fragments of its own half.
bool reads(const OpDesc &mma, const OpDesc &fragment) {
  return fragment.subtile == (fragment.channel == BlockChannel::A ? mma.stage : mma.subtile);
}

/// Entries of one counter that may not be done, oldest first. They end in this order.
class PendingEntries {
public:
  void issue(const OpDesc &op, std::int64_t weight, std::size_t turn) {
    entries_.push_back({&op, weight, turn});
  }
  void drain() { entries_.clear(); }

  struct Newest {
    const OpDesc *op;
    std::int64_t younger;
  };
  /// The newest entry of those, and how many are younger than it.
  std::optional<Newest>
  newest(const std::function<bool(const OpDesc &, std::size_t turn)> &which) const {
    std::int64_t younger = 0;
    for (const Entry &entry : std::views::reverse(entries_)) {
      if (which(*entry.op, entry.turn)) return Newest{entry.op, younger};
      younger += entry.weight;
    }
    return std::nullopt;
  }

private:
  struct Entry {
    const OpDesc *op;
    std::int64_t weight;
    std::size_t turn; ///< Of a global load that at whose end it is needed; else that of its issue.
  };
  std::vector<Entry> entries_;
};

/// Halves are numbered on through the trips: `turn` counts them from 0.
class HalfWalk {
public:
  HalfWalk(const Halves &halves, const PipelineConfig &config, const CounterLimits &limits)
      : halves_(halves), config_(config), limits_(limits) {}

  std::vector<HalfWaits> run() {
    for (std::size_t turn = 0; turn < kTripsToRepeat * halves_.size(); ++turn) takeTurn(turn);
    std::vector<HalfWaits> waits;
    for (std::size_t half = 0; half < halves_.size(); ++half)
      waits.push_back(takeTurn(kTripsToRepeat * halves_.size() + half));
    return waits;
  }

private:
  HalfWaits takeTurn(std::size_t turn) {
    HalfWaits result;
    const auto blocks = halves_[turn % halves_.size()];
    for (const MmaBlock &block : blocks)
      for (const CounterStep &step : stepsOf(block)) {
        switch (step.kind) {
        case CounterStep::GlobalLoad: issueGlobal(*step.op, turn); break;
        case CounterStep::FragmentLoad: issueFragment(*step.op, turn); break;
        case CounterStep::DrainFragments: fragments_.drain(); break;
        case CounterStep::PreSync:
          if (&block == &blocks.front()) waitForFragments(block.mma, turn, result);
          if (&block == &blocks.back()) waitForGlobals(turn, result);
        }
      }
    return result;
  }

  void issueGlobal(const OpDesc &op, std::size_t turn) {
    const bool isA = op.channel == BlockChannel::A;
    const bool readNextTrip = op.stage == static_cast<std::int64_t>(turn % halves_.size());
    globals_.issue(op, isA ? config_.vmPerLoadA : config_.vmPerLoadB,
                   readNextTrip ? turn + halves_.size() - 1 : turn);
  }

  void issueFragment(const OpDesc &op, std::size_t turn) {
    const bool isA = op.channel == BlockChannel::A;
    fragments_.issue(op, isA ? config_.lgkmPerLoadA : config_.lgkmPerLoadB, turn);
  }

  void waitForGlobals(std::size_t turn, HalfWaits &result) const {
    const auto newest =
        globals_.newest([&](const OpDesc &, std::size_t neededBy) { return neededBy == turn; });
    result.waits.waitVmLast = newest ? std::min(newest->younger, limits_.vm) : limits_.vm;
    if (newest) result.load = *newest->op;
  }

  void waitForFragments(const OpDesc &mma, std::size_t turn, HalfWaits &result) const {
    const auto newest = fragments_.newest([&](const OpDesc &fragment, std::size_t issuedIn) {
      return issuedIn % halves_.size() == turn % halves_.size() && reads(mma, fragment);
    });
    result.waits.waitLgkmFirst = newest ? std::min(newest->younger, limits_.lgkm) : limits_.lgkm;
    if (newest) result.fragment = *newest->op;
  }

  const Halves &halves_;
  const PipelineConfig &config_;
  const CounterLimits &limits_;
  PendingEntries globals_, fragments_;
};

/// What the walk takes for granted.
class Rules {
public:
  Rules(const Halves &halves, const PipelineConfig &config) : halves_(halves), config_(config) {}

  Result<void> check() const {
    for (std::size_t half = 0; half < halves_.size(); ++half)
      for (const MmaBlock &block : halves_[half])
        if (const auto checked = checkBlock(block, half); !checked) return checked;
    return {};
  }

private:
  Result<void> checkBlock(const MmaBlock &block, std::size_t half) const {
    for (const auto *op : {&block.preOp0, &block.preOp1, &block.globalLoad, &block.globalLoad1})
      if (*op && (*op)->channel == BlockChannel::None)
        return fail(Diag::BlockLoadWithoutChannel, {}, toText(**op), half);
    for (const auto *fragment : {&block.preOp0, &block.preOp1})
      if (*fragment)
        if (const auto checked = checkFragment(block, **fragment, half); !checked) return checked;
    for (const auto *load : {&block.globalLoad, &block.globalLoad1})
      if (*load && &block == &halves_[half].back() && block.barrierBeforePreOps &&
          isReadNext(**load, half))
        return fail(Diag::BlockLoadAfterWait, {}, toText(**load), half, "vm", "last");
    return {};
  }

  Result<void> checkFragment(const MmaBlock &block, const OpDesc &fragment,
                             std::size_t half) const {
    if (halves_.size() > 1 && fragment.stage != static_cast<std::int64_t>(half))
      return fail(Diag::BlockFragmentOfOtherStage, {}, toText(fragment), half);
    const bool waitsAtEntry = config_.minimalBarriers && block.entryWait.vm;
    if (&block == &halves_[half].front() && (block.barrierBeforePreOps || waitsAtEntry) &&
        reads(block.mma, fragment))
      return fail(Diag::BlockLoadAfterWait, {}, toText(fragment), half, "lgkm", "first");
    return {};
  }

  /// Before the half has been here again, and so behind no other wait for vm than this.
  bool isReadNext(const OpDesc &load, std::size_t half) const {
    return halves_.size() == 1 || load.stage != static_cast<std::int64_t>(half);
  }

  const Halves &halves_;
  const PipelineConfig &config_;
};

/// The entries in flight, at most, when a half's wait lets the own count of them stay.
std::int64_t mostInFlight(const Halves &halves, const PipelineConfig &config,
                          const std::function<std::int64_t(std::size_t half)> &countOf) {
  std::int64_t inFlight = 0, most = 0, before = -1;
  while (before != inFlight) { // it grows from trip to trip up to the counts
    before = inFlight;
    for (std::size_t half = 0; half < halves.size(); ++half)
      for (const MmaBlock &block : halves[half])
        for (const CounterStep &step : stepsOf(block)) {
          if (step.kind == CounterStep::GlobalLoad)
            inFlight += step.op->channel == BlockChannel::A ? config.vmPerLoadA : config.vmPerLoadB;
          most = std::max(most, inFlight);
          if (step.kind == CounterStep::PreSync && &block == &halves[half].back())
            inFlight = std::min(inFlight, countOf(half));
        }
  }
  return most;
}

WaitVerdict judge(std::int64_t formula, std::int64_t required, bool drained) {
  if (formula == required) return WaitVerdict::Equal;
  if (formula < required) return WaitVerdict::Stronger;
  return drained ? WaitVerdict::MadeGood : WaitVerdict::Unsafe;
}

struct WaitSite {
  std::string_view counter, block, what;
};

std::string describe(const WaitSite &site, std::int64_t formula, std::int64_t required,
                     WaitVerdict verdict, const std::optional<OpDesc> &decides) {
  return std::string(site.block) + " block: " + std::string(site.counter) + " " + toText(formula) +
         " by formula, " + toText(required) + " required: " + std::string(toText(verdict)) +
         (decides ? "; " + toText(*decides) + " is the newest" : "; there is no") + " " +
         std::string(site.what) + " that must be done\n";
}

std::string describeField(std::string_view counter, std::int64_t count, std::int64_t limit) {
  if (count <= limit) return "";
  return std::string(counter) + " " + toText(count) +
         " by formula is more than a wait can name: " + toText(limit) + "\n";
}

} // namespace

Result<RequiredWaits> requiredWaits(const PipelineProgram &program, const PipelineConfig &config,
                                    const CounterLimits &limits) {
  const auto halves = halvesOf(program, config);
  if (!halves) return halves.failure();
  if (const auto rules = Rules(*halves, config).check(); !rules) return rules.failure();
  RequiredWaits required{.halves = HalfWalk(*halves, config, limits).run()};
  required.mostInFlight = mostInFlight(
      *halves, config, [&](std::size_t half) { return required.halves[half].waits.waitVmLast; });
  return required;
}

Result<WaitComparison> compareWaits(const PipelineProgram &program, const PipelineConfig &config,
                                    const CounterLimits &limits) {
  const auto required = requiredWaits(program, config, limits);
  if (!required) return required.failure();
  const auto formula = deriveWaitsFromBlocks(program, config);
  const auto halves = halvesOf(program, config);

  WaitComparison comparison{.formula = *formula, .limits = limits};
  const std::int64_t vm = std::min(formula->waitVmLast, limits.vm);
  const std::int64_t lgkm = std::min(formula->waitLgkmFirst, limits.lgkm);
  for (std::size_t half = 0; half < halves->size(); ++half) {
    const HalfWaits &own = required->halves[half];
    const bool drained = drainsBeforeMma((*halves)[half].front());
    comparison.halves.push_back({.required = own,
                                 .vm = judge(vm, own.waits.waitVmLast, false),
                                 .lgkm = judge(lgkm, own.waits.waitLgkmFirst, drained)});
  }
  comparison.mostInFlight = mostInFlight(*halves, config, [&](std::size_t) { return vm; });
  return comparison;
}

std::string_view toText(WaitVerdict verdict) {
  switch (verdict) {
  case WaitVerdict::Equal: return "equal";
  case WaitVerdict::Stronger: return "stronger than needed";
  case WaitVerdict::MadeGood: return "too weak, but all fragments are drained before the mma";
  case WaitVerdict::Unsafe: return "UNSAFE";
  }
  IMBREX_UNREACHABLE("a comparison of waits has no verdict");
}

bool WaitComparison::differs() const {
  return std::ranges::any_of(halves, [](const HalfComparison &half) {
    return half.vm != WaitVerdict::Equal || half.lgkm != WaitVerdict::Equal;
  });
}

bool WaitComparison::unsafe() const {
  return std::ranges::any_of(halves, [](const HalfComparison &half) {
    return half.vm == WaitVerdict::Unsafe || half.lgkm == WaitVerdict::Unsafe;
  });
}

std::string toText(const WaitComparison &comparison) {
  const BlockWaits &formula = comparison.formula;
  const CounterLimits &limits = comparison.limits;
  std::string text;
  for (std::size_t number = 0; number < comparison.halves.size(); ++number) {
    const HalfComparison &half = comparison.halves[number];
    const HalfWaits &required = half.required;
    const std::string name = "half " + toText(number) + ", ";
    text += name + describe({"lgkm", "first", "fragment"}, formula.waitLgkmFirst,
                            required.waits.waitLgkmFirst, half.lgkm, required.fragment);
    text += name + describe({"vm", "last", "load"}, formula.waitVmLast, required.waits.waitVmLast,
                            half.vm, required.load);
  }
  text += describeField("lgkm", formula.waitLgkmFirst, limits.lgkm);
  text += describeField("vm", formula.waitVmLast, limits.vm);
  text += "at most " + toText(comparison.mostInFlight) + " entries of vm in flight by formula";
  if (comparison.mostInFlight >= limits.vmBeforeStall)
    text += ": issuing stalls from " + toText(limits.vmBeforeStall) + " on";
  return text + "\n";
}

} // namespace imbrex::schedule
