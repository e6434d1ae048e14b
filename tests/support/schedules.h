#pragma once

#include "backend/schedule/program/program.h"

#include <cstdint>

/// The schedules that Imbrex is for, written by hand, each with the mistakes that have been made in
/// it elsewhere. The default shapes are those of the real kernels; with few warps they are small
/// enough for the oracle.
namespace imbrex::testing {

inline constexpr std::int64_t kTileBytes = 16384; // 128 rows of 64 elements of 2

/// One role loads A and B, one multiplies; `%k` steps, in `%tiles` if `persistent`.
struct GemmShape {
  std::int32_t depth = 4;
  std::int32_t inFlight = 1; ///< Products that may still run when the one before them is released.
  std::int32_t warps = 8;
  bool persistent = false;
  bool arrivesAhead =
      false; ///< Consumers release all slots at the start, as some compilers have it.
  std::int32_t loadWarps = 1; ///< One loads, the others have its registers.
  std::int32_t loadRegisters = 40, computeRegisters = 232;
};

enum class GemmDefect : std::uint8_t {
  None,
  ReleasedAtIssue,   // a slot is released when the product has been issued
  ReleasedInFlight,  // and when it may be the one still in flight
  OneReleasesForAll, // the first warp's wait is taken for that of all
  LoaderNotFlipped,  // the loader waits for a release that nobody makes
  EmptyCountTooHigh,
  EmptyCountTooLow,
  ExpectDoesNotArrive,
  FewerBytesLand,
  MoreBytesLand,
  RestartsPerTile, // both cursors go back with every tile
  LoaderRestartsPerTile,
  NotReleasedAtEnd,    // the last products' slots stay occupied
  SingleSecondOperand, // B has one slot under barriers for several
  LoadsOneLess,        // the roles count trips differently
  ReadsBeforeWait,
  OthersArriveAhead, // who does not consume A and B releases their slots at the start as well
};

schedule::Program gemm(const GemmShape &shape = {}, GemmDefect defect = GemmDefect::None);

/// The same with a second loader for a tile of bias for each tile of the output.
struct BiasGemmShape {
  std::int32_t depth = 2, biasDepth = 2;
  std::int32_t warps = 8;
};

enum class BiasGemmDefect : std::uint8_t {
  None,
  BiasSlotSkipped,       // a second load of slot 1 in the place of the next one of slot 0
  OperandsRunAhead,      // from some step on, those of a later one are loaded
  OperandsRestartAtTile, // the index of the operands does not run on across tiles
};

schedule::Program biasGemm(const BiasGemmShape &shape = {},
                           BiasGemmDefect defect = BiasGemmDefect::None);

/// Four roles: two loaders, one that feeds a tensor core with its own memory, one that finishes.
/// Every tile has at least one step.
struct TensorGemmShape {
  std::int32_t depth = 4, resultDepth = 2, biasDepth = 2;
  std::int32_t warps = 4; ///< Of the role that finishes.
};

enum class TensorGemmDefect : std::uint8_t {
  None,
  ResultNeverReleased, // and nobody waits for it
  ResultReleasedEarly, // while it is being read
  ReleaseReachesOne,   // of the two who want it
  SecondLoadMissing,   // of the operands
  SecondBiasMissing,
  ResultSignalledEarly, // before the last products
  FirstWaitMissing,     // the products do not wait for a free result
};

schedule::Program tensorGemm(const TensorGemmShape &shape = {},
                             TensorGemmDefect defect = TensorGemmDefect::None);

/// Attention forward: one role loads Q, K and V, two groups compute in turns; `%n` blocks in each
/// of `%tiles`.
struct AttentionShape {
  std::int32_t keyDepth = 2, valueDepth = 2;
  std::int32_t warps = 4; ///< Of a group.
  bool turns = true;
};

enum class AttentionDefect : std::uint8_t {
  None,
  TurnCountOne,      // one warp gives the turn for all
  BothGroupsWait,    // neither has the first turn
  NoWaitOnEmptyTile, // the turn is handed on that was not waited for
  KeyReleasedInFlight,
  QueryReleasedEarly, // before the last product that reads it
  ValueReleasedInFlight,
};

schedule::Program attention(const AttentionShape &shape = {},
                            AttentionDefect defect = AttentionDefect::None);

/// One role whose warps copy for each other, groups of copies in order, a meeting for each step.
struct GroupedGemmShape {
  std::int32_t depth = 3;
  std::int32_t warps = 4;
  bool epilogue = false; ///< Writes its result over the ring.
};

enum class GroupedGemmDefect : std::uint8_t {
  None,
  DrainOneWeaker,
  NoMeeting,
  EpilogueNotDrained,
  CopiesTooFar,     // into the slot that is being read
  CommitAfterDrain, // the newest group is not counted where the drain counts
  MeetsWithAll,     // with warps that do not come
};

schedule::Program groupedGemm(const GroupedGemmShape &shape = {},
                              GroupedGemmDefect defect = GroupedGemmDefect::None);

/// Two groups of warps half a step apart: while one reads and loads, the other multiplies.
struct PingPongShape {
  std::int32_t depth = 2;
  std::int32_t warps = 4; ///< Of a group.
};

enum class PingPongDefect : std::uint8_t {
  None,
  DrainOneTileWeaker, // counted before the loads of this step were moved in front of it
  MeetsBeforeReadsEnd,
  NotStaggeredBack, // the first group lacks its meeting at the end
  LoadsTooFar,      // into the slot that is being read
};

schedule::Program pingPongGemm(const PingPongShape &shape = {},
                               PingPongDefect defect = PingPongDefect::None);

/// The same with a single slot, loaded by way of registers.
enum class StagedPingPongDefect : std::uint8_t {
  None,
  ReadsNotDrained,
  WritesNotDrained,
  NeitherDrained,
};

schedule::Program stagedPingPongGemm(std::int32_t warps = 4,
                                     StagedPingPongDefect defect = StagedPingPongDefect::None);

/// Small protocols that kernels have in them, as they must be and as they have been got wrong.
enum class Version : std::uint8_t { Repaired, Broken };

/// One slot for all, filled and used in `%k` steps; broken, nobody waits before it is filled again.
schedule::Program sharedOperand(Version version);
/// A barrier of its own, of one slot; broken, it is waited for with the place in a longer ring.
schedule::Program explicitBarrier(Version version);
/// A descriptor in memory that stores read; broken, it is changed under a store.
schedule::Program descriptor(Version version);
/// An address that one role finds out; broken, others rely on the barriers of their `%k` steps.
schedule::Program address(Version version);
/// A copy and the role that arrives at its barrier; broken, perhaps before the bytes are expected.
schedule::Program loneExpect(Version version);
/// One slot with the next tile's number; broken, one of its readers does not say that it has read.
schedule::Program mailbox(Version version);
/// A value stored for a product that reads it asynchronously; broken, without a fence.
schedule::Program fencedStore(Version version);
/// A tile that is written to the tensor core's memory; broken, before the write has ended it is
/// said to be there.
schedule::Program tensorStore(Version version);
/// Barriers that one role makes; broken, the other does not wait for that.
schedule::Program madeBarriers(Version version);
/// The same; broken, a copy uses one without a fence.
schedule::Program fencedBarriers(Version version);
/// A tile that many write and one stores asynchronously; broken, without their fences.
schedule::Program bulkStore(Version version);
/// Two meetings of different warps at the same time; broken, under one number.
schedule::Program twoMeetings(Version version);
/// All warps meet; broken, the loader is counted but does not come.
schedule::Program epilogueMeeting(Version version);

} // namespace imbrex::testing
