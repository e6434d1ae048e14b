#pragma once

#include "backend/schedule/blocks/block_program.h"
#include "backend/schedule/program/program.h"

/// All that the warps of a block program do, for the checker (check.h), which says what counts
/// alone cannot: whether a barrier hands what was loaded to those who read it, and whether nothing
/// is loaded over what is still read.
///
/// A block's fields become steps in their order, and the loop gets what comes before and behind it
/// as Mojo's pipeline package makes it. Half 0 of the program in docs/block-waits.md, for two
/// groups by turns:
///
///   block 0   FB[0,0] FA[0,0] LA[1,1] | lgkm 8  meet  lgkm 0 | (mma) meet
///   block 1   FB[0,1] LB[0,0]         |         meet  lgkm 0 | (mma) meet
///   block 2   FA[0,1] LA[0,0]         |         meet  lgkm 0 | (mma) meet
///   block 3   LB[0,1]                 | vm 12   meet         | (mma) meet
///
/// Registers are not part of it: that an mma waits for its fragments is the compiler's to see to.
namespace imbrex::schedule {

/// What a warp does.
struct BlockStep {
  enum class Kind : std::uint8_t {
    Load,     // a global load or a fragment load: an entry, or several, of its counter
    WaitVm,   // until at most so many entries are left
    WaitLgkm, // the same
    Meet,
  };
  Kind kind;
  OpDesc op = {.tag = OpTag::Mma}; ///< Load.
  /// Load: of which tile along k, counted from the trip's first. The tile's stage is the op's.
  std::int32_t tile = 0;
  std::int64_t left = 0;                            ///< Of a wait.
  std::optional<std::int32_t> group = std::nullopt; ///< That meets although the other does not.

  friend bool operator==(const BlockStep &, const BlockStep &) = default;
};

/// From the beginning of a kernel's loop to its end.
struct PipelinedLoop {
  std::vector<BlockStep> prologue;
  std::vector<BlockStep> trip;
  std::vector<BlockStep> epilogue; ///< Its tiles are counted from the first that no trip is for.
};

/// Who runs it.
struct BlockWarps {
  /// 2: they take turns, the second one meeting behind; each reads its half of A, which is the
  /// load's subtile of the group's number, and all of B, a quarter of a stage at a time. 1: a
  /// fragment is what the load of the same subtile has brought.
  std::int32_t groups = 1;
  std::int32_t warps = 4; ///< Of a group.
};

/// A load brings the next tile that comes to its stage behind the half's own, a fragment is of the
/// next one from the half's own on.
///
///   prologue   the loads of each stage that fetch ahead of a trip, drained before others;
///              with `bootstrap`: all, and each of these fragments behind a wait that leaves all
///              but the first load in flight, all but two, …, and a barrier
///   epilogue   the loop's blocks without the loads that fetch ahead: fragments drained at entry;
///              from the first block on that loaded ahead all loads before the barrier. A block
///              that loads nothing is one with the block before. What is read of tiles behind the
///              last is not used, and is what lies there
///
/// Refused: what `halvesOf` refuses, and stages that no half has.
Result<PipelinedLoop> loopOf(const PipelineProgram &program, const PipelineConfig &config,
                             const BlockWarps &warps, std::span<const OpDesc> bootstrap = {});

/// The schedule of that loop: a role for each group, a slot for each half's stage, a buffer for
/// each subtile of A and of B and each group that loads its part of it, two queues for the
/// counters.
Program programOf(const PipelinedLoop &loop, const PipelineConfig &config, const BlockWarps &warps);

} // namespace imbrex::schedule
