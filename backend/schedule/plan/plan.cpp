#include "backend/schedule/plan/plan.h"

#include "backend/schedule/plan/compute_groups.h"
#include "backend/schedule/plan/drains.h"
#include "backend/schedule/plan/partitions.h"
#include "backend/schedule/plan/prefetch.h"
#include "backend/schedule/plan/split_roles.h"
#include "backend/schedule/program/channels.h"
#include "backend/schedule/program/well_formed.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace imbrex::schedule {

namespace {

constexpr std::int32_t kMostSlots = 8;
constexpr std::int32_t kMostInFlight = 2;
constexpr std::int32_t kMostOuterSlots = 2;
// What is known to run at least so often is walked so often.
constexpr std::int32_t kMostLeast = 4096;
// More take minutes.
constexpr std::int64_t kMostWalked = 100'000;
// Cycles are whole numbers; what differs by less is the same.
constexpr double kSame = 1e-6;

/// What is wrong with a way to schedule the work.
struct RejectedPlan {
  std::string way;
  Diagnostic what;
};

class SchedulePlanner {
public:
  SchedulePlanner(const Program &work, const PlanRequest &request, Diagnostics &diagnostics)
      : work_(work), request_(request), diagnostics_(diagnostics) {}

  std::optional<Plan> operator()() {
    for (const Trips &trips : work_.trips) {
      if (trips.least <= kMostLeast) continue;
      diagnostics_.report(Diag::ScheduleTooLarge, work_.where, work_.name,
                          "there are never fewer than " + toText(trips.least) + " trips of '" +
                              trips.name + "'",
                          "say no more than 'least " + toText(kMostLeast) + "'");
      return std::nullopt;
    }
    if (const std::int64_t walked = tripsToWalk(work_); walked > kMostWalked) {
      diagnostics_.report(Diag::ScheduleTooLarge, work_.where, work_.name,
                          "its conditions tell so many numbers of trips apart that " +
                              toText(walked) + " trips would be walked",
                          "compare trips with smaller numbers, most of all those of inner loops");
      return std::nullopt;
    }
    for (measured_ = request_.loop; work_[measured_].within.valid();)
      measured_ = work_[measured_].within;
    if (const auto queue = loadQueueOf(work_)) {
      tryPrefetch(*queue);
      if (request_.turns)
        for (const LastCluster last : {LastCluster::Whole, LastCluster::Halved}) tryTurns(last);
    } else {
      for (const Partition &partition : partitionsOf(work_, request_)) tryPartition(partition);
    }
    if (!best_) return reportFailure(), std::nullopt;
    plan_.chosen = *best_;
    Candidate &taken = plan_.candidates[*best_];
    if (taken.takesTurns) describePlacement(taken);
    return std::move(plan_);
  }

private:
  /// What was tried and does not fit. Where nothing could be made, what is wrong with the work: as
  /// the first way says, the plainest one, for others may go wrong by what they do themselves.
  void reportFailure() {
    const auto isMade = [](const Candidate &candidate) { return candidate.demand.warps > 0; };
    if (std::ranges::none_of(plan_.candidates, isMade) && !mistakes_.empty()) {
      for (const RejectedPlan &mistake : mistakes_)
        if (mistake.way == mistakes_.front().way) diagnostics_.add(mistake.what);
      return;
    }
    std::string reasons;
    for (const Candidate &candidate : plan_.candidates)
      if (reasons.find(candidate.refused) == std::string::npos)
        reasons += (reasons.empty() ? "" : "; ") + candidate.refused;
    diagnostics_.report(Diag::ScheduleNoPlan, work_.where, work_.name, request_.machine.name,
                        reasons);
  }

  /// What keeps one way from being taken is the user's business only where no other can be: it is
  /// kept, each once, and is why the candidate is refused.
  void refuse(Candidate candidate, const Diagnostics &why) {
    for (const Diagnostic &one : why.all()) {
      const auto isSame = [&](const RejectedPlan &other) {
        return other.what.kind == one.kind && other.what.message == one.message;
      };
      if (std::ranges::none_of(mistakes_, isSame)) mistakes_.push_back({candidate.roles, one});
    }
    candidate.refused = why.all().front().message;
    plan_.candidates.push_back(std::move(candidate));
  }

  /// Whether a made program can be walked: a copy that nobody reads has got no barrier.
  bool isWhole(const Program &program, Diagnostics &why) const {
    const auto queue = loadQueueOf(work_);
    for (const Role &role : program.roles)
      forEachOp(role.body, [&](const ScheduleOp &op) {
        if (op.kind != ScheduleOpKind::Copy || op.barrier.valid()) return;
        const std::string name =
            op.accesses.empty() ? "" : program[op.accesses.front().buffer].name;
        why.report(Diag::ScheduleUnawaitedCopy, op.where, name,
                   queue ? "loads go through the queue '" + work_[*queue].name +
                               "', and no barrier counts its bytes"
                         : "no operation but copies uses it");
      });
    return !why.hasErrors() && verify(program, why);
  }

  /// More slots never make a schedule slower. So the most that fit say how fast this one can be,
  /// and if that is not worse than what there is, the fewest that are as fast are searched.
  template <class Make>
  void overSlots(std::int32_t fewest, const Candidate &like, Make makeInto) {
    Diagnostics why;
    const auto make = [&](std::int32_t slots) {
      std::optional<Program> made = makeInto(slots, why);
      if (made && !isWhole(*made, why)) made.reset();
      return made;
    };
    const auto considerMade = [&](std::int32_t slots, std::optional<Program> made) {
      Candidate candidate = like;
      candidate.slots = slots;
      return add(std::move(candidate), std::move(made));
    };
    const auto consider = [&](std::int32_t slots) { return considerMade(slots, make(slots)); };
    if (request_.slots) {
      if (*request_.slots >= fewest) consider(*request_.slots);
      if (why.hasErrors()) refuse(like, why);
      return;
    }
    std::int32_t most = kMostSlots;
    std::optional<Program> widest = make(most), wider; // without drains
    if (!widest && why.hasErrors()) refuse(like, why); // with any number of slots
    if (!widest) return;
    while (most > fewest && !fits(widest)) {
      wider = std::move(widest);
      widest = make(--most);
    }
    if (most < kMostSlots) considerMade(most + 1, std::move(wider)); // to say why not
    const double fastest = considerMade(most, std::move(widest));
    if (best_ && *best_ + 1 != plan_.candidates.size()) {
      // Not faster than the best: it can still be better with fewer slots alone, or, where even the
      // most take less memory, with as many.
      const Candidate &best = plan_.candidates[*best_];
      const double wanted = cyclesOf(best) + kSame;
      const std::int64_t bytes = plan_.candidates.back().demand.sharedBytes;
      most = std::min(most, best.slots - (bytes < best.demand.sharedBytes ? 0 : 1));
      if (fastest > wanted || most < fewest || consider(most) > wanted) return;
    }
    while (fewest < most) {
      const std::int32_t middle = (fewest + most) / 2;
      if (consider(middle) <= fastest + kSame)
        most = middle;
      else
        fewest = middle + 1;
    }
  }

  /// The work, done by all warps that compute.
  Program ofAllWarps() const {
    Program work = work_;
    work.roles.front().warps = request_.warps;
    return work;
  }

  void tryPrefetch(QueueId queue) {
    overSlots(1, {.roles = "compute"}, [&](std::int32_t slots, Diagnostics &why) {
      return prefetch(ofAllWarps(), queue, request_.loop, slots, why);
    });
  }

  std::optional<TurnLoop> clusters(std::int32_t slots, LastCluster last, std::string &why) const {
    return cutIntoClusters(ofAllWarps(), *loadQueueOf(work_), request_.loop, slots, why, last);
  }

  void describePlacement(Candidate &taken) const {
    std::string why;
    const auto loop = clusters(taken.slots, *taken.takesTurns, why);
    taken.placement = describe(*loop, searchPlacements(*loop));
  }

  void tryTurns(LastCluster last) {
    Candidate candidate = {.roles = "two groups by turns", .takesTurns = last};
    if (last == LastCluster::Halved) candidate.roles += ", the last products in two";
    if (!clusters(1, last, candidate.refused)) {
      plan_.candidates.push_back(std::move(candidate));
      return;
    }
    overSlots(1, candidate, [&](std::int32_t slots, Diagnostics &) -> std::optional<Program> {
      std::string why;
      const TurnLoop loop = *clusters(slots, last, why);
      const PlacementSearch search = searchPlacements(loop);
      if (!search.best) return std::nullopt;
      return programOf(loop, *search.best);
    });
  }

  void tryPartition(const Partition &partition) {
    Diagnostics unsplit;
    auto split = splitRoles(work_, partition.split, unsplit);
    if (!split) return refuse({.roles = partition.name}, unsplit);
    std::optional<GroupRoles> groups;
    if (partition.halved) {
      Candidate refused = {.roles = partition.name};
      groups = splitInGroups(*split, *partition.halved, refused.refused);
      if (!groups) return plan_.candidates.push_back(std::move(refused));
    }
    const std::vector<RingId> inner = ringsOf(*split);
    const bool hasOuter = inner.size() < split->rings.size();
    for (std::int32_t outer = 1; outer <= (hasOuter ? kMostOuterSlots : 1); ++outer)
      for (std::int32_t inFlight = 0; inFlight <= (lags(*split) ? kMostInFlight : 0); ++inFlight) {
        const Candidate like = {.roles = partition.name, .outerSlots = outer, .inFlight = inFlight};
        overSlots(inFlight + 1, like, [&](std::int32_t slots, Diagnostics &why) {
          Program program = *split;
          for (Ring &ring : program.rings) ring.depth = outer;
          for (const RingId ring : inner) program.rings[ring.index()].depth = slots;
          return ordered(std::move(program), inFlight, groups, why);
        });
      }
  }

  /// The rings of which the loop uses one slot in each trip.
  std::vector<RingId> ringsOf(const Program &program) const {
    std::vector<RingId> rings;
    for (const Role &role : program.roles)
      forEachOp(role.body, [&](const ScheduleOp &op) {
        if (op.kind != ScheduleOpKind::For || op.trips != request_.loop) return;
        for (const ScheduleOp &inner : op.body)
          if (inner.kind == ScheduleOpKind::Advance &&
              std::ranges::find(rings, program[inner.cursor].ring) == rings.end())
            rings.push_back(program[inner.cursor].ring);
      });
    return rings;
  }

  bool isLagging(const Program &program, QueueId queue) const {
    const auto like = std::ranges::find(work_.queues, program[queue].name, &Queue::name);
    return !request_.isSignalling(QueueId(static_cast<std::uint32_t>(like - work_.queues.begin())));
  }

  /// Whether some queue's products may still run when the next are issued.
  bool lags(const Program &program) const {
    for (std::uint32_t q = 0; q < program.queues.size(); ++q)
      if (isLagging(program, QueueId(q))) return true;
    return false;
  }

  std::optional<Program> ordered(Program program, std::int32_t inFlight,
                                 const std::optional<GroupRoles> &groups, Diagnostics &why) {
    std::vector<QueuePlan> queues;
    for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
      const bool lagging = isLagging(program, QueueId(q));
      queues.push_back({.inFlight = lagging ? inFlight : 0, .signals = !lagging});
    }
    auto safe = addBarriers(std::move(program), queues, why);
    if (safe && groups) takeTurns(*safe, *groups, request_.loop);
    if (safe && request_.registers) handOverRegisters(*safe, request_.machine, request_.minBlocks);
    return safe;
  }

  static double cyclesOf(const Candidate &candidate) {
    return candidate.refused.empty() ? candidate.interval.cyclesPerTrip
                                     : std::numeric_limits<double>::infinity();
  }

  bool fits(const std::optional<Program> &program) const {
    Diagnostics overruns;
    return program && checkBudget(*program, request_.machine, request_.minBlocks, overruns);
  }

  /// Its cycles; infinitely many where it does not fit. Drains take no memory: they come last, for
  /// what fits alone. Groups that take turns have theirs, which addDrains could not see: it looks
  /// at one role.
  double add(Candidate candidate, std::optional<Program> program) {
    if (!program) return std::numeric_limits<double>::infinity();
    Diagnostics overruns;
    const auto fitsNow = [&] {
      return checkBudget(*program, request_.machine, request_.minBlocks, overruns);
    };
    if (fitsNow() && !candidate.takesTurns) program = addDrains(std::move(*program));
    candidate.demand = demandOf(*program);
    for (const Role &role : program->roles)
      if (role.registers > 0) candidate.registers.push_back(role.registers);
    if (!overruns.hasErrors() && fitsNow()) {
      const auto interval = initiationInterval(*program, measured_, request_.trips);
      if (interval.ok())
        candidate.interval = *interval;
      else
        candidate.refused = interval.error().message;
    } else {
      candidate.refused = overruns.all().front().message;
    }
    plan_.candidates.push_back(std::move(candidate));
    const Candidate &added = plan_.candidates.back();
    if (!added.refused.empty()) return cyclesOf(added);
    if (best_ && rankOf(plan_.candidates[*best_]) <= rankOf(added)) return cyclesOf(added);
    best_ = plan_.candidates.size() - 1;
    plan_.program = std::move(*program);
    return cyclesOf(added);
  }

  static std::tuple<std::int64_t, std::int32_t, std::int32_t, std::int32_t, std::int64_t>
  rankOf(const Candidate &candidate) {
    return {static_cast<std::int64_t>(candidate.interval.cyclesPerTrip / kSame), candidate.slots,
            candidate.outerSlots + candidate.inFlight, candidate.demand.warps,
            candidate.demand.sharedBytes};
  }

  const Program &work_;
  const PlanRequest &request_;
  Diagnostics &diagnostics_;
  TripsId measured_; // the outermost loop: its trips may overlap as well
  Plan plan_;
  std::vector<RejectedPlan> mistakes_; // of the ways that could not be made
  std::optional<std::size_t> best_;
};

} // namespace

std::optional<Plan> planSchedule(const Program &work, const PlanRequest &request,
                                 Diagnostics &diagnostics) {
  return SchedulePlanner(work, request, diagnostics)();
}

} // namespace imbrex::schedule
