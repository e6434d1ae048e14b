#pragma once

#include "backend/schedule/blocks/block_program.h"

/// The waits of a block program, from where its loads really stand.
///
/// What a warp has issued is walked through trips of the body until they repeat, and each wait is
/// asked how many entries are younger than the newest one that it must cover:
///
///   half 0 of a program with 4 entries a load, as it arrives at the wait of its last block
///
///     … | LA[1,1]  LB[0,0]  LA[0,0]  LB[0,1] | vm 12        half 1 reads stage 1 next, so that
///         needed   ------- 12 younger ------                LA[1,1] must be there
///
///     … | LB[0,0]  LA[0,0]  LB[0,1]  LA[1,1] | vm 0         the same loads: a formula that only
///                                    needed                 adds them up says 12 here too
namespace imbrex::schedule {

struct HalfWaits {
  BlockWaits waits; ///< The largest safe counts, none beyond the limits.
  /// The newest ones that must be done, which decide; none where nothing has to be.
  std::optional<OpDesc> load = std::nullopt, fragment = std::nullopt;
};

struct RequiredWaits {
  std::vector<HalfWaits> halves;
  /// Vm entries that a warp has in flight at most, when it waits by these counts.
  std::int64_t mostInFlight = 0;
};

/// For each half, the largest counts by which
///
///   at preSync of its last block    every global load is done that the next half reads: one into
///                                   another stage than the half's that the half issued itself, and
///                                   one into the next half's stage that the next half issued in
///                                   the trip before (with one half: each load, in the next trip)
///   at preSync of its first block   the fragments are done that its mma reads: of A those of its
///                                   row, of B those of its column
///
/// Each wait does its part by itself, in every trip: in the first ones fewer loads are in flight.
/// Of the waits that the program has, the full drains that flags ask for are taken into account. A
/// wait speaks for one warp; that a barrier hands the data to the others is for the checker to
/// prove.
///
/// Refused is what a wait at these two places cannot make safe: a fragment load of a stage that is
/// not its half's, a load issued after the wait that must cover it, one without a channel.
Result<RequiredWaits> requiredWaits(const PipelineProgram &program, const PipelineConfig &config,
                                    const CounterLimits &limits = {});

/// A count by formula against the one that is required, both within the limits.
enum class WaitVerdict : std::uint8_t {
  Equal,
  Stronger, // waits for more than it must
  MadeGood, // waits for too little, and a full drain follows before the data is used
  Unsafe,   // waits for too little
};
std::string_view toText(WaitVerdict verdict);

struct HalfComparison {
  HalfWaits required;
  WaitVerdict vm, lgkm;
};

struct WaitComparison {
  BlockWaits formula; ///< As deriveWaitsFromBlocks says.
  CounterLimits limits;
  std::vector<HalfComparison> halves = {};
  std::int64_t mostInFlight = 0; ///< With the formula's counts.

  bool differs() const; ///< Anywhere.
  bool unsafe() const;  ///< Anywhere.
};

/// Where the formula of deriveWaitsFromBlocks and requiredWaits differ, and on which side.
Result<WaitComparison> compareWaits(const PipelineProgram &program, const PipelineConfig &config,
                                    const CounterLimits &limits = {});

/// A line for each wait, and one for what the counters cannot hold or the machine slows down at.
std::string toText(const WaitComparison &comparison);

} // namespace imbrex::schedule
