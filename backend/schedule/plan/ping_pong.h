#pragma once

#include "backend/schedule/program/program.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Two groups of warps that run the same loop in turns: while one reads and loads, the other
/// computes. No roles and no barriers between them: the warps count their own loads, and all meet.
///
///   a trip is cut into *clusters*, of memory and of arithmetic by turns, with a meeting behind
///   each
///
///     group 0   M0 | C1 | M2 | C3 | M0 | C1 |          group 1 has met once more at the start,
///     group 1        M0 | C1 | M2 | C3 | M0 |          group 0 does at the end
///
/// What one group did in its cluster x, and waited for there, the other finds from its cluster x +
/// 2 on, or x where the other is the later one. That is all there is to say what is safe:
///
///   a slot is loaded again    2 clusters after the one in which its last reads are over
///   a slot is read            2 clusters after the one in which its loads are waited for
///
/// (1 where group 0 alone reads and writes that early.) A *placement* says for each piece of the
/// tile in which cluster, and how many trips ahead, its slot is filled; what must be waited for
/// where, and how many entries may be left, follows.
///
/// A slot is filled by a load, or by a *store* from registers where a load has brought the piece:
///
///   M …, drain loads, store the piece for `ahead` trips later, drain stores,
///        load one for a trip behind that into the same registers
namespace imbrex::schedule {

/// A buffer of the loop that has a slot for each trip's content.
struct LoopBuffer {
  BufferId buffer;                           ///< Of the work.
  std::int32_t entries = 1;                  ///< That a warp's part of a load makes in its counter.
  std::array<bool, 2> readBy = {true, true}; ///< By group.
  BufferId registers = {}; ///< Into which it is loaded, to be stored; none: into its slot.
};

/// A loop cut into clusters.
struct TurnLoop {
  Program work; ///< Of one role, whose warps are those of both groups.
  TripsId trips;
  QueueId loads;
  std::vector<LoopBuffer> pieces; ///< In the order in which a trip loads them.
  std::vector<ScheduleOp> issues; ///< By piece: the load, with its cost.
  std::vector<ScheduleOp> stores; ///< By piece; empty: loads fill the slots.
  /// By turns, memory first; without loads and stores.
  std::vector<std::vector<ScheduleOp>> clusters;
  std::int32_t slots = 2;
  std::int32_t stages = 0; ///< Of registers: how many trips before its store a piece is loaded.
  /// All reads are waited for behind the meeting: they may take as long as a cluster. Else those
  /// alone that are not the last of any piece, since nothing is filled for their end.
  bool readsEndLate = false;

  bool isStaged() const { return !stores.empty(); }
};

/// Where a piece's slot is filled.
struct LoadPlace {
  std::int32_t cluster = 0; ///< Of the trip.
  std::int32_t ahead = 1;   ///< For the trip that comes so many later.

  friend bool operator==(const LoadPlace &, const LoadPlace &) = default;
};

using Placement = std::vector<LoadPlace>; ///< By piece.

/// How many trips later a piece is read than it is loaded in.
std::int32_t loadAhead(const TurnLoop &loop, const LoadPlace &place);

/// The most trips ahead that anything is loaded.
std::int32_t mostAhead(const TurnLoop &loop, const Placement &placement);

/// Whether the reads of a cluster are waited for behind its meeting.
bool endsLate(const TurnLoop &loop, std::int32_t cluster);

/// How many entries of loads may be left at the end of a cluster, or before what it stores: by
/// cluster, where one is waited for.
using ClusterWaits = std::map<std::int32_t, std::int32_t>;

/// How the arithmetic behind the last read of a trip is cut.
enum class LastCluster : std::uint8_t {
  Whole,
  /// In two with a cluster of memory between them, which no read is in: so that a piece can be
  /// stored over, by then, into a single slot.
  Halved,
};

/// Cut the work's loop: its loads are those on `loads` at its top, and its stores what puts loaded
/// registers into memory, behind them; memory is what touches what they write, up to the next
/// arithmetic. What loads bring has so many slots; what is stored has so many stages of registers,
/// and two slots, or one where `last` leaves room for that. Nothing where it is not work for turns,
/// with the reason in `why`.
std::optional<TurnLoop> cutIntoClusters(const Program &work, QueueId loads, TripsId loop,
                                        std::int32_t slots, std::string &why,
                                        LastCluster last = LastCluster::Whole);

/// Whether a slot is never filled over what is still read, and never too late to be waited for.
bool isSafe(const TurnLoop &loop, std::size_t piece, const LoadPlace &place);

/// The largest counts by which every load is there when it is read. The placement must be safe, or
/// at least early enough.
ClusterWaits waitsOf(const TurnLoop &loop, const Placement &placement);

/// The same for the last trips of a run, which load less: with 1, 2, … left, and last for more.
std::vector<ClusterWaits> waitsByLeft(const TurnLoop &loop, const Placement &placement);

/// The most entries of loads that a warp has in flight.
std::int32_t mostInFlight(const TurnLoop &loop, const Placement &placement);

/// What is known of all placements.
struct PlacementSearch {
  std::int64_t tried = 0;
  std::int64_t safe = 0;
  std::map<std::int32_t, std::int64_t> byLeast = {}; ///< Safe ones, by their smallest count.
  /// That leaves most in flight where least may be; of equals, one whose loads have most clusters
  /// to land in, then one that has the fewest entries in a cluster.
  std::optional<Placement> best = std::nullopt;
};

struct PlacementChoice {
  bool amongArithmetic = false; ///< Loads may stand in clusters of arithmetic, too, and hold it up.
  /// By piece; empty: the most that are safe, for each cluster. Fewer never leave more in flight.
  std::vector<std::int32_t> ahead = {};
};

/// Every choice of a cluster for each piece.
PlacementSearch searchPlacements(const TurnLoop &loop, const PlacementChoice &choice = {});

/// Where the loads stand, how many others were tried, and what they leave in flight; for people.
std::string describe(const TurnLoop &loop, const PlacementSearch &search);

/// The program of both groups, with all that orders it.
Program programOf(const TurnLoop &loop, const Placement &placement);

} // namespace imbrex::schedule
