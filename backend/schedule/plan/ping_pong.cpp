#include "backend/schedule/plan/ping_pong.h"

#include "backend/machine/machine.h"
#include "backend/schedule/program/attributes.h"
#include "backend/support/text.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace imbrex::schedule {

namespace {

std::int32_t clustersOf(const TurnLoop &loop) {
  return static_cast<std::int32_t>(loop.clusters.size());
}

/// The first and the last cluster of a trip in which a piece is read.
struct ReadClusters {
  std::int32_t first, last;
};

ReadClusters readsOf(const TurnLoop &loop, const LoopBuffer &piece) {
  ReadClusters reads{.first = clustersOf(loop), .last = -1};
  for (std::int32_t cluster = 0; cluster < clustersOf(loop); ++cluster)
    for (const ScheduleOp &op : loop.clusters[static_cast<std::size_t>(cluster)])
      for (const Access &access : op.accesses)
        if (access.buffer == piece.buffer) {
          reads.first = std::min(reads.first, cluster);
          reads.last = cluster;
        }
  return reads;
}

/// Behind a cluster of group `from` that has waited, the first in which group `to` finds it done.
std::int32_t clustersUntil(std::int32_t from, std::int32_t to) { return 1 + from - to; }

/// From the trip's beginning: the first cluster in which both groups may load over a piece.
std::int32_t freeFrom(const TurnLoop &loop, const LoopBuffer &piece) {
  const std::int32_t over = readsOf(loop, piece).last + (loop.readsEndLate ? 1 : 0);
  std::int32_t from = 0;
  for (const std::int32_t reader : {0, 1})
    for (const std::int32_t loader : {0, 1})
      if (piece.readBy[static_cast<std::size_t>(reader)])
        from = std::max(from, over + clustersUntil(reader, loader));
  return from;
}

/// From the beginning of the trip that reads a piece: the last cluster of memory in which both
/// groups can wait for their loads of it. A cluster of arithmetic is not held up.
std::int32_t waitBy(const TurnLoop &loop, const LoopBuffer &piece) {
  std::int32_t by = clustersOf(loop);
  for (const std::int32_t reader : {0, 1})
    for (const std::int32_t loader : {0, 1})
      if (piece.readBy[static_cast<std::size_t>(reader)])
        by = std::min(by, readsOf(loop, piece).first - clustersUntil(loader, reader));
  return by - (by & 1);
}

/// Counts the entries of a run of so many trips, of which the last load nothing.
class EntryCounter {
public:
  EntryCounter(const TurnLoop &loop, const Placement &placement, std::int32_t trips)
      : loop_(loop), placement_(placement), trips_(trips) {}

  /// By trip.
  std::vector<ClusterWaits> operator()() {
    std::vector<ClusterWaits> waits(static_cast<std::size_t>(trips_));
    for (std::int32_t trip = 0; trip < trips_; ++trip)
      for (std::int32_t cluster = 0; cluster < clustersOf(loop_); ++cluster) {
        if (!loop_.isStaged()) issue(trip, cluster);
        if (const auto left = wait(trip, cluster))
          waits[static_cast<std::size_t>(trip)][cluster] = *left;
        if (loop_.isStaged()) issue(trip, cluster);
      }
    return waits;
  }

private:
  void issue(std::int32_t trip, std::int32_t cluster) {
    for (std::size_t piece = 0; piece < placement_.size(); ++piece) {
      const LoadPlace &place = placement_[piece];
      const std::int32_t use = trip + loadAhead(loop_, place);
      if (place.cluster != cluster || use >= trips_) continue;
      entries_ += loop_.pieces[piece].entries;
      upTo_[{piece, use}] = entries_;
    }
  }

  /// What must be there when this cluster has met, or before it stores; nothing where it is.
  std::optional<std::int32_t> wait(std::int32_t trip, std::int32_t cluster) {
    std::int32_t needed = 0;
    for (std::size_t piece = 0; piece < placement_.size(); ++piece) {
      const auto ahead = aheadAtWait(piece, cluster);
      const auto load = ahead ? upTo_.find({piece, trip + *ahead}) : upTo_.end();
      if (load != upTo_.end()) needed = std::max(needed, load->second);
    }
    if (needed <= done_) return std::nullopt;
    done_ = needed;
    return entries_ - needed;
  }

  /// For how many trips later a piece is waited for in this cluster; nothing where it is in others.
  std::optional<std::int32_t> aheadAtWait(std::size_t piece, std::int32_t cluster) const {
    const LoadPlace &place = placement_[piece];
    if (loop_.isStaged())
      return place.cluster == cluster ? std::optional(place.ahead) : std::nullopt;
    const std::int32_t ahead = cluster - waitBy(loop_, loop_.pieces[piece]);
    if (ahead % clustersOf(loop_) != 0) return std::nullopt;
    return ahead / clustersOf(loop_);
  }

  const TurnLoop &loop_;
  const Placement &placement_;
  std::int32_t trips_;
  std::int32_t entries_ = 0, done_ = 0;
  std::map<std::pair<std::size_t, std::int32_t>, std::int32_t> upTo_; // by piece and trip
};

} // namespace

std::int32_t loadAhead(const TurnLoop &loop, const LoadPlace &place) {
  return place.ahead + loop.stages;
}

bool endsLate(const TurnLoop &loop, std::int32_t cluster) {
  return loop.readsEndLate || llvm::none_of(loop.pieces, [&](const LoopBuffer &piece) {
           return readsOf(loop, piece).last == cluster;
         });
}

std::int32_t mostAhead(const TurnLoop &loop, const Placement &placement) {
  std::int32_t most = 0;
  for (const LoadPlace &place : placement) most = std::max(most, loadAhead(loop, place));
  return most;
}

bool isSafe(const TurnLoop &loop, std::size_t piece, const LoadPlace &place) {
  const std::int32_t clusters = clustersOf(loop);
  const LoopBuffer &of = loop.pieces[piece];
  const bool isFree = clusters * (loop.slots - place.ahead) + place.cluster >= freeFrom(loop, of);
  return isFree && clusters * place.ahead + waitBy(loop, of) >= place.cluster;
}

std::vector<ClusterWaits> waitsByLeft(const TurnLoop &loop, const Placement &placement) {
  // So many that in the one before the last ones all loads have been made that are waited for.
  const std::int32_t most = mostAhead(loop, placement), trips = 3 * most + 3;
  std::vector<ClusterWaits> waits = EntryCounter(loop, placement, trips)();
  std::ranges::reverse(waits);
  waits.resize(static_cast<std::size_t>(most) + 1);
  return waits;
}

/// Counted in entries from the beginning of a trip's, all trips making as many: the load that a
/// wait is for, and what has been issued when it comes. A wait that another one before it covers is
/// none.
ClusterWaits waitsOf(const TurnLoop &loop, const Placement &placement) {
  std::vector<std::int32_t> upToPiece(placement.size()), upToCluster;
  std::int32_t entries = 0;
  for (std::int32_t cluster = 0; cluster < clustersOf(loop); ++cluster) {
    if (loop.isStaged()) upToCluster.push_back(entries);
    for (std::size_t piece = 0; piece < placement.size(); ++piece)
      if (placement[piece].cluster == cluster)
        upToPiece[piece] = entries += loop.pieces[piece].entries;
    if (!loop.isStaged()) upToCluster.push_back(entries);
  }
  std::map<std::int32_t, std::int32_t> newest; // that is waited for, by cluster
  for (std::size_t piece = 0; piece < placement.size(); ++piece) {
    const LoadPlace &place = placement[piece];
    const std::int32_t by = loop.isStaged() ? place.cluster : waitBy(loop, loop.pieces[piece]);
    // That the wait comes before the one that reads.
    const std::int32_t trips = loop.isStaged() ? place.ahead : by < 0 ? 1 : 0;
    const std::int32_t load = upToPiece[piece] + (trips - loadAhead(loop, place)) * entries;
    const auto [at, isNew] = newest.try_emplace(by < 0 ? by + clustersOf(loop) : by, load);
    if (!isNew) at->second = std::max(at->second, load);
  }
  const auto isCovered = [&](std::int32_t cluster, std::int32_t load) {
    return llvm::any_of(newest, [&](const auto &other) {
      const std::int32_t tripBefore = other.first > cluster ? entries : 0;
      return other.first != cluster && other.second - tripBefore >= load;
    });
  };
  ClusterWaits waits;
  for (const auto &[cluster, load] : newest)
    if (!isCovered(cluster, load))
      waits[cluster] = upToCluster[static_cast<std::size_t>(cluster)] - load;
  return waits;
}

namespace {

/// How good a placement is, better ones larger.
using Merit = std::tuple<std::int32_t, std::int32_t, std::int32_t>;

std::int32_t leastOf(const ClusterWaits &waits) {
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (const auto &[cluster, count] : waits) least = std::min(least, count);
  return least;
}

/// In clusters, from where a piece is loaded to where it is waited for.
std::int32_t timeToLand(const TurnLoop &loop, std::size_t piece, const LoadPlace &place) {
  if (loop.isStaged()) return loop.stages * clustersOf(loop);
  return clustersOf(loop) * place.ahead + waitBy(loop, loop.pieces[piece]) - place.cluster;
}

Merit meritOf(const TurnLoop &loop, const Placement &placement, std::int32_t least) {
  std::int32_t leastTime = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> entries(loop.clusters.size());
  for (std::size_t piece = 0; piece < placement.size(); ++piece) {
    const LoadPlace &place = placement[piece];
    leastTime = std::min(leastTime, timeToLand(loop, piece, place));
    entries[static_cast<std::size_t>(place.cluster)] += loop.pieces[piece].entries;
  }
  return {least, leastTime, -std::ranges::max(entries)};
}

} // namespace

PlacementSearch searchPlacements(const TurnLoop &loop, const PlacementChoice &choice) {
  PlacementSearch search;
  search.tried = 1;
  std::vector<std::vector<LoadPlace>> places(loop.pieces.size());
  for (std::size_t piece = 0; piece < places.size(); ++piece) {
    std::int64_t tried = 0;
    const std::int32_t step = choice.amongArithmetic ? 1 : 2;
    for (std::int32_t cluster = 0; cluster < clustersOf(loop); cluster += step, ++tried) {
      const bool isGiven = !choice.ahead.empty();
      LoadPlace place{.cluster = cluster, .ahead = isGiven ? choice.ahead[piece] : loop.slots};
      while (!isGiven && place.ahead > 1 && !isSafe(loop, piece, place)) --place.ahead;
      if (isSafe(loop, piece, place)) places[piece].push_back(place);
    }
    search.tried *= tried;
  }
  std::optional<Merit> best;
  Placement placement;
  const auto place = [&](auto &self) -> void {
    if (placement.size() < places.size()) {
      for (const LoadPlace &next : places[placement.size()]) {
        placement.push_back(next);
        self(self);
        placement.pop_back();
      }
      return;
    }
    const std::int32_t least = leastOf(waitsOf(loop, placement));
    ++search.safe;
    ++search.byLeast[least];
    const Merit merit = meritOf(loop, placement, least);
    if (best && merit <= *best) return;
    best = merit;
    search.best = placement;
  };
  place(place);
  return search;
}

namespace {

/// The counts that a drain of this queue can ask for.
ClusterWaits waitsAsked(const TurnLoop &loop, const Placement &placement) {
  ClusterWaits waits = waitsOf(loop, placement);
  for (auto &[cluster, count] : waits) count = std::min(count, loop.work[loop.loads].capacity);
  return waits;
}

} // namespace

std::int32_t mostInFlight(const TurnLoop &loop, const Placement &placement) {
  const ClusterWaits waits = waitsAsked(loop, placement);
  std::int32_t left = 0, most = 0;
  for (std::int32_t at = 0; at < 2 * clustersOf(loop); ++at) { // the second time round it is steady
    const std::int32_t cluster = at % clustersOf(loop);
    const auto wait = waits.find(cluster);
    if (loop.isStaged() && wait != waits.end()) left = wait->second;
    for (std::size_t piece = 0; piece < placement.size(); ++piece)
      if (placement[piece].cluster == cluster) left += loop.pieces[piece].entries;
    most = at < clustersOf(loop) ? 0 : std::max(most, left);
    if (!loop.isStaged() && wait != waits.end()) left = wait->second;
  }
  return most;
}

std::string describe(const TurnLoop &loop, const PlacementSearch &search) {
  const Placement &best = *search.best;
  std::string text = loop.isStaged() ? "stores: " : "loads: ";
  for (std::size_t piece = 0; piece < best.size(); ++piece)
    text += loop.work[loop.pieces[piece].buffer].name + " in cluster " +
            toText(best[piece].cluster) + ", " + counted(best[piece].ahead, "trip") + " ahead; ";
  if (loop.isStaged())
    text += "each loaded " + counted(loop.stages, "trip") + " before, behind a store; ";
  text += toText(search.safe) + " of " + toText(search.tried) +
          " placements are safe\nwaits: at least " + toText(leastOf(waitsAsked(loop, best))) +
          " entries are left, at most " + toText(mostInFlight(loop, best)) + " are in flight";
  if (mostInFlight(loop, best) >= machine::kLoadsBeforeStall)
    text += ", where warps were seen to stall from " + toText(machine::kLoadsBeforeStall) + " on";
  return text;
}

} // namespace imbrex::schedule
