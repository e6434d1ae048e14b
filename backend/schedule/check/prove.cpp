#include "backend/schedule/check/check.h"
#include "backend/schedule/check/free_trips.h"
#include "backend/schedule/check/run.h"
#include "backend/schedule/check/signature.h"
#include "backend/schedule/check/used_slots.h"
#include "backend/schedule/check/words.h"
#include "backend/schedule/program/channels.h"
#include "backend/support/text.h"
#include "llvm/ADT/Hashing.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

namespace imbrex::schedule {

namespace {

using check::Model;
using check::Run;

/// A schedule whose roles keep in step has some hundreds of forks; this many say that they do not.
constexpr std::int64_t kMostForks = 20000;

struct SignatureHash {
  std::size_t operator()(const std::vector<std::int32_t> &signature) const {
    return llvm::hash_combine_range(signature.begin(), signature.end());
  }
};

/// A run at a fork, and how it got there.
struct Fork {
  Run run;
  std::int32_t from;  ///< Index into the decisions; -1: the start.
  std::int32_t forks; ///< Before it.
};

/// With rings of fewer slots each state is small.
constexpr std::int32_t kDeepRing = 16;

/// Every so many forks a run is held against those that were visited. With one number of trips all
/// runs are one, longer and longer: no two can meet but after the rings have been filled, and
/// states of deep rings are large.
std::int32_t strideOf(const Program &program) {
  std::int32_t deepest = 0;
  for (const Ring &ring : program.rings) deepest = std::max(deepest, ring.depth);
  return program.trips.size() == 1 && deepest >= kDeepRing ? deepest : 1;
}

/// Of all runs together: numbers in clocks that steps and states looked at, slots and cells that
/// forks copied.
constexpr std::int64_t kMostWork = 200'000'000;

/// What a fork costs besides, however little there is to look at.
constexpr std::int64_t kWorkOfFork = 400;

Finding tooLarge(const Program &program, std::string_view what, std::string_view hint) {
  return {.what = diagnostic(Diag::ScheduleTooLarge, program.where, program.name, what, hint)};
}

/// "ring 'AB' has 65536 slots", of the deepest.
std::string deepestRing(const Program &program) {
  const auto deepest = std::ranges::max_element(program.rings, {}, &Ring::depth);
  if (deepest == program.rings.end()) return "";
  return "; ring '" + deepest->name + "' has " + toText(deepest->depth) + " slots";
}

/// A clock has a number for each slot, and each run a clock for each slot.
Finding tooMuchMemory(const Program &program, std::string_view of) {
  return tooLarge(program,
                  std::string(of) + " more than " + toText(check::kMostBytes >> 20) +
                      " MB of memory" + deepestRing(program),
                  "give its rings fewer slots");
}

/// Why a run of this one is too long.
Finding tooLong(const Run &run, const Program &program, std::string_view of,
                std::string_view hint) {
  if (run.clockBytes() > check::kMostBytes)
    return tooMuchMemory(program, std::string(of) + " takes");
  return tooLarge(program,
                  std::string(of) + " has more than " + toText(check::kMostLooks) + " steps", hint);
}

/// Slots of barriers, and pieces of memory that accesses tell apart, that there may be for all
/// roles together.
constexpr std::int64_t kMostPlaces = 16'000'000;

/// What a model of the program would hold; before there is one.
std::optional<Finding> tooManyPlaces(const Program &program) {
  std::vector<bool> hasParts(program.buffers.size());
  std::int64_t warps = 0;
  for (const Role &role : program.roles) {
    warps += std::min(role.warps, 2);
    forEachOp(role.body, [&](const ScheduleOp &op) {
      for (const Access &access : op.accesses)
        if (access.part != Part::All) hasParts[access.buffer.index()] = true;
    });
  }
  std::int64_t places = 0;
  for (const Barrier &barrier : program.barriers) places += program.depthOf(barrier.ring);
  for (std::size_t b = 0; b < hasParts.size(); ++b) {
    const Buffer &buffer = program.buffers[b];
    const std::int64_t copies = buffer.space == Space::Registers ? warps : 1;
    places += copies * program.depthOf(buffer.ring) * (hasParts[b] ? buffer.parts : 1);
  }
  if (places <= kMostPlaces / std::max<std::int64_t>(warps, 1)) return std::nullopt;
  return tooLarge(program,
                  "it has " + toText(places) + " slots and parts of slots that " +
                      counted(warps, "warp") + " may come to" + deepestRing(program),
                  "give its rings fewer slots, its buffers fewer parts, or let roles be fewer");
}

struct Decision {
  std::int32_t before;
  bool oneMore;
};

/// How runs that differ in what they know alone are taken together.
enum class StateMerging : std::uint8_t {
  /// One goes on for all, knowing what all of them know: few runs, but one that fails need not be a
  /// real one. Without a failure all real ones are safe.
  Meet,
  /// Each goes on unless one that knew no more has gone before.
  Cover,
};

/// The forks that were visited, each by what it knew.
class Visited {
public:
  explicit Visited(StateMerging merging) : merging_(merging) {}

  /// Whether the run must be followed; it may know less then than before.
  bool add(Run &run) {
    check::Signature signature = check::signatureOf(run);
    work_ += signature.work;
    const std::size_t bytes = signature.rest.size() * sizeof(signature.rest[0]) +
                              signature.lacks.size() * sizeof(signature.lacks[0]);
    auto &known = visited_[std::move(signature.rest)];
    const auto covers = [&](const Known &less) {
      return check::knowsNoMore(less, signature.lacks);
    };
    if (std::ranges::any_of(known, covers)) return false;
    ++size_;
    bytes_ += static_cast<std::int64_t>(bytes);
    if (merging_ == StateMerging::Meet && !known.empty()) {
      known.front() = check::common(known.front(), signature.lacks);
      check::weaken(run, signature, known.front());
    } else {
      known.push_back(std::move(signature.lacks));
    }
    return true;
  }
  std::int64_t size() const { return size_; }
  std::int64_t work() const { return work_; }
  std::int64_t bytes() const { return bytes_; }

private:
  using Known = check::Signature::ClockLags;
  StateMerging merging_;
  std::unordered_map<std::vector<std::int32_t>, std::vector<Known>, SignatureHash> visited_;
  std::int64_t size_ = 0;
  std::int64_t work_ = 0;
  std::int64_t bytes_ = 0; ///< Of what is kept.
};

/// All runs, decision by decision.
class Proof {
public:
  Proof(const Program &program, StateMerging merging, std::int64_t mostWork = kMostWork)
      : model_(program), merging_(merging), mostWork_(mostWork), visited_(merging) {}

  Verdict operator()() {
    go(Run(model_, nullptr), -1, 0);
    while (!forks_.empty() && verdict_.findings.empty()) {
      const Fork fork = takeFork();
      for (const bool oneMore : {false, true}) {
        decisions_.push_back({.before = fork.from, .oneMore = oneMore});
        Run next = fork.run;
        next.decide(oneMore);
        go(std::move(next), static_cast<std::int32_t>(decisions_.size()) - 1, fork.forks + 1);
        if (!verdict_.findings.empty()) break;
      }
    }
    verdict_.states = visited_.size();
    verdict_.work = work();
    return std::move(verdict_);
  }

private:
  std::int64_t work() const { return work_ + visited_.work(); }

  /// Runs that go on for long soon know what all of them know; to find one that fails, the first
  /// with few decisions.
  Fork takeFork() {
    const bool last = merging_ == StateMerging::Meet;
    Fork fork = std::move(last ? forks_.back() : forks_.front());
    if (last)
      forks_.pop_back();
    else
      forks_.pop_front();
    return fork;
  }

  void go(Run run, std::int32_t from, std::int32_t forks) {
    follow(std::move(run), from, forks);
    if (verdict_.findings.empty() && work() > mostWork_)
      giveUp("its runs together take more than " + toText(mostWork_) + " steps of work");
  }

  /// Up to the next fork; the run is dropped where one like it was there before.
  void follow(Run run, std::int32_t from, std::int32_t forks) {
    const std::int64_t before = run.steps();
    const Run::Outcome outcome = run.proceed();
    verdict_.steps += run.steps() - before;
    work_ += (run.steps() - before) * model_.width + model_.slots + model_.cells + kWorkOfFork;
    if (outcome == Run::Outcome::Tires) {
      verdict_.findings.push_back(
          tooLong(run, model_.program, "one of its runs",
                  "give its rings fewer slots, and its loops fewer trips at "
                  "least"));
      return;
    }
    if (outcome == Run::Outcome::Fails) return fail(run, from);
    if (outcome == Run::Outcome::Ends) return;
    run.forgetTrips();
    run.forgetKnown();
    if (forks % stride_ == 0 && !visited_.add(run)) return;
    ++forksOver_[run.asked().index()];
    if (visited_.size() > kMostForks) return giveUp();
    const std::int64_t forked = std::ssize(forks_) * run.bytes();
    if (run.clockBytes() + visited_.bytes() + forked > check::kMostBytes) {
      verdict_.findings.push_back(tooMuchMemory(model_.program, "its runs together take"));
      return;
    }
    forks_.push_back({.run = std::move(run), .from = from, .forks = forks});
  }

  void giveUp(std::string_view what) {
    verdict_.findings.push_back(tooLarge(
        model_.program, what, "give its rings fewer slots, and its loops fewer trips at least"));
  }

  void giveUp() {
    const bool several = model_.program.roles.size() > 1;
    verdict_.findings.push_back(
        {.what = diagnostic(
             Diag::ScheduleUnbounded, whereMostFork(), model_.program.name,
             (several ? "its roles do not keep in step, " : "") + toText(kMostForks) +
                 " states were visited",
             several ? "bound how far one role can run ahead of another, and give loops in a row "
                       "trips of their own"
                     : "give it fewer loops whose numbers of trips are known at run time alone, or "
                       "its rings fewer slots")});
  }

  /// The loop of whose trips most questions were.
  Location whereMostFork() const {
    const auto most = std::ranges::max_element(forksOver_) - forksOver_.begin();
    Location where;
    for (const Role &role : model_.program.roles)
      forEachOp(role.body, [&](const ScheduleOp &op) {
        const bool isLoop =
            op.kind == ScheduleOpKind::For && op.trips.index() == static_cast<std::size_t>(most);
        if (isLoop && !where.known()) where = op.where;
      });
    return where.known() ? where : model_.program.where;
  }

  /// Runs the same way again, this time keeping a trace. One that knows what several know alone may
  /// be none of them: that it fails says no more than that each must be looked at.
  void fail(const Run &failed, std::int32_t from) {
    if (merging_ == StateMerging::Meet) {
      verdict_.findings = failed.explained({});
      return;
    }
    std::vector<bool> path;
    for (; from >= 0; from = decisions_[static_cast<std::size_t>(from)].before)
      path.push_back(decisions_[static_cast<std::size_t>(from)].oneMore);
    Run run(model_, nullptr);
    std::vector<check::TraceStep> trace;
    run.traceInto(trace);
    for (; run.proceed() == Run::Outcome::Forks; path.pop_back()) run.decide(path.back());
    verdict_.findings = run.explained(trace);
  }

  Model model_;
  std::int32_t stride_ = strideOf(model_.program);
  std::int64_t work_ = 0;
  StateMerging merging_;
  std::int64_t mostWork_;
  std::deque<Fork> forks_;
  std::vector<Decision> decisions_;
  std::vector<std::int64_t> forksOver_ = std::vector<std::int64_t>(model_.program.trips.size());
  Visited visited_;
  Verdict verdict_;
};

bool gaveUp(const Verdict &verdict) {
  return std::ranges::any_of(verdict.findings, [](const Finding &finding) {
    return finding.what.kind == Diag::ScheduleUnbounded ||
           finding.what.kind == Diag::ScheduleTooLarge;
  });
}

} // namespace

Verdict prove(const Program &program) {
  if (auto finding = tooManyPlaces(program)) return {.findings = {*std::move(finding)}};
  if (const auto free = check::withFreeTrips(program))
    if (Verdict wide = Proof(*free, StateMerging::Meet)(); wide.isSafe()) return wide;
  Verdict quick = Proof(program, StateMerging::Meet)();
  const bool isTooLarge =
      !quick.isSafe() && quick.findings.front().what.kind == Diag::ScheduleTooLarge;
  return quick.isSafe() || isTooLarge ? quick : Proof(program, StateMerging::Cover)();
}

bool takesMoreWork(const Program &program, std::int64_t than) {
  if (tooManyPlaces(program)) return true;
  const Verdict quick = Proof(program, StateMerging::Meet, than)();
  if (quick.isSafe() || gaveUp(quick)) return !quick.isSafe();
  return gaveUp(Proof(program, StateMerging::Cover, than)());
}

TripCount sameTrips(std::vector<std::int32_t> counts) {
  return [counts = std::move(counts)](TripsId trips, std::int64_t) {
    return std::int64_t{counts[trips.index()]};
  };
}

Verdict checkAt(const Program &given, const TripCount &count) {
  const Program program = check::withSlotsFor(given, count);
  if (auto finding = tooManyPlaces(program)) return {.findings = {*std::move(finding)}};
  const Model model(program);
  Run run(model, &count);
  std::vector<check::TraceStep> trace;
  run.traceInto(trace);
  if (run.proceed() == Run::Outcome::Tires)
    return {.findings = {tooLong(run, program, "this run", "take fewer trips")},
            .steps = run.steps()};
  return {.findings = run.explained(trace), .steps = run.steps()};
}

bool report(const Verdict &verdict, Diagnostics &diagnostics) {
  for (const Finding &finding : verdict.findings) {
    // Of several parts, or to several warps, the same is told once.
    const auto isSame = [&](const Finding &other) {
      return other.what.kind == finding.what.kind && other.what.message == finding.what.message;
    };
    if (&*std::ranges::find_if(verdict.findings, isSame) != &finding) continue;
    diagnostics.add(finding.what);
    if (finding.trips.empty() && finding.trace.empty()) continue; // it was no run that showed it
    std::string run = finding.trips.empty() ? "these numbers of trips" : finding.trips;
    for (const std::string &step : finding.trace) run += "\n    " + step;
    diagnostics.report(Diag::ScheduleTrace, finding.what.where, run);
  }
  return verdict.isSafe();
}

} // namespace imbrex::schedule
