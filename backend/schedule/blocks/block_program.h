#pragma once

#include "backend/machine/machine.h"
#include "backend/support/result.h"
#include "backend/support/text.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// A loop body whose waits are counts, as a list of blocks around one matrix operation each: what
/// Mojo's pipeline package calls a `PipelineProgram`, with the fields that its function
/// `derive_waits_from_blocks` and our own derivation (required_waits.h) need.
///
/// The body has *halves*, one for each stage of the buffers: half h reads stage h, through its
/// *fragment loads*, and fills stages with *global loads* along the way. A warp counts the entries
/// of both kinds that are not done, of global loads in the counter *vm*, of fragment loads in
/// *lgkm*, each in the order of issue, and can wait until at most n are left.
///
/// A block issues, unless its flags say otherwise:
///
///   preOp0 preOp1 globalLoad globalLoad1 | preSync, a barrier, lgkm 0 | mma | a barrier
///
/// docs/block-waits.md has a whole program.
namespace imbrex::schedule {

/// The values are those of the package, as are those of `BlockChannel`.
enum class OpTag : std::uint8_t {
  LoadA = 0,
  LoadB = 1,
  FragmentA = 3,
  FragmentB = 4,
  Mma = 5,
};

/// Which matrix an op is about. Its A and B go through buffers of their own.
enum class BlockChannel : std::int8_t {
  None = -1,
  A = 0,
  B = 1,
};

/// Which tile along k a global load fetches, from the one of the current trip.
enum class KOffset : std::uint8_t {
  K0 = 0,
  K1 = 1,
  Next = 2,     // two tiles on
  Previous = 3, // one tile back
  None = 255,
};

struct OpDesc {
  OpTag tag;
  std::int32_t stage = 0;   ///< Of an mma: its row of tiles.
  std::int32_t subtile = 0; ///< Of an mma: its column of tiles.
  KOffset kOffset = KOffset::None;
  BlockChannel channel = BlockChannel::None;

  friend bool operator==(const OpDesc &, const OpDesc &) = default;
};

using imbrex::toText; // which those of this namespace would hide
/// `LA[1,0]@KP`: the load of matrix A into stage 1, subtile 0, at the previous k.
std::string toText(const OpDesc &op);

/// Blocks until at most so many entries of each counter are left; no count: whatever is left.
struct CounterWait {
  std::optional<std::int64_t> vm = std::nullopt;
  std::optional<std::int64_t> lgkm = std::nullopt;

  friend bool operator==(const CounterWait &, const CounterWait &) = default;
};

struct MmaBlock {
  std::optional<OpDesc> preOp0 = std::nullopt; ///< Fragment loads.
  std::optional<OpDesc> preOp1 = std::nullopt;
  std::optional<OpDesc> globalLoad = std::nullopt;
  std::optional<OpDesc> globalLoad1 = std::nullopt;
  CounterWait entryWait = {}; ///< Before all else; behind one for vm, a barrier.
  CounterWait preSync = {};   ///< After the loads, before the barrier.
  OpDesc mma = {.tag = OpTag::Mma};
  bool preMmaBarrier = true;
  bool postMmaBarrier = true;
  bool postBarrierLgkm = true;       ///< Fragment loads are all done after that barrier.
  bool drainLgkmBeforeLoads = false; ///< They are all done before the block's global loads.
  bool globalBeforeFrag = false;     ///< Global loads (and that drain) before fragment loads.
  bool barrierBeforePreOps = false;  ///< All loads after the barrier.
};

struct PipelineProgram {
  std::vector<MmaBlock> blocks;
};

struct PipelineConfig {
  std::int32_t mMmas = 0;         ///< Blocks of a half: mMmas x nMmas.
  std::int32_t nMmas = 0;         ///< 0, as in mMmas: as many as the program has.
  std::int32_t numPartitions = 2; ///< Halves.
  std::int32_t vmPerLoadA = 0;    ///< Entries that a warp's part of a global load makes.
  std::int32_t vmPerLoadB = 0;    ///< Of matrix B.
  std::int32_t lgkmPerLoadA = 0;  ///< Entries that a fragment load makes; 0: not said.
  std::int32_t lgkmPerLoadB = 0;  ///< Of matrix B.
  bool minimalBarriers = false;   ///< A wait for a half's fragments may stand at its entry.
};

/// The largest counts that a wait can name, and the number of global loads from which on a warp
/// stalls when it issues another.
///
/// Fields: 6 bits and 4 bits in the instruction s_waitcnt of CDNA (LLVM 22 assembles 63 and 15, and
/// refuses 64 and 16).
struct CounterLimits {
  std::int64_t vm = 63;
  std::int64_t lgkm = 15;
  std::int64_t vmBeforeStall = machine::kLoadsBeforeStall;
};

/// The program's halves in order; none for a program without blocks. Refused: blocks that do not
/// divide by the halves, more or fewer than the configuration says, entries below zero.
Result<std::vector<std::span<const MmaBlock>>> halvesOf(const PipelineProgram &program,
                                                        const PipelineConfig &config);

/// The count of fragment loads at the first block of a half, and that of global loads at its last.
struct BlockWaits {
  std::int64_t waitLgkmFirst = 0;
  std::int64_t waitVmLast = 0;

  friend bool operator==(const BlockWaits &, const BlockWaits &) = default;
};

/// `derive_waits_from_blocks` of Mojo's pipeline package, with its numbers:
///
///   waitLgkmFirst  the largest over the halves of: lgkm entries by channel, summed over the
///                  *global* loads of the first block
///   waitVmLast     the least of 255 and, over the halves: vm entries of all global loads less
///                  those of the half's completion loads, whose stage is not the half's
///
/// Entries of a load without a channel are those of B, as there. `lgkmPerA` and `lgkmPerB` hold
/// where the configuration has 0. The result is no proof, and is not limited to what a wait can
/// name: compareWaits (required_waits.h) says whether it is safe for this program. A program
/// without blocks has nothing in flight: (0, 0).
Result<BlockWaits> deriveWaitsFromBlocks(const PipelineProgram &program,
                                         const PipelineConfig &config, std::int64_t lgkmPerA = 0,
                                         std::int64_t lgkmPerB = 0);

/// Write each half's waits into its first and last block; `waits` has one for each half, or one for
/// all. Counts beyond the limits become the limits, which wait for more and are safe. Where a half
/// has one block only, its preSync has both counts (the package keeps the last one written).
///
///   first block   preSync: lgkm, or lgkm 0 with barrierBeforePreOps; with minimalBarriers and a
///                 wait for vm at the entry: there, and no preSync
///   last block    preSync: vm
Result<void> applyWaits(PipelineProgram &program, const PipelineConfig &config,
                        std::span<const BlockWaits> waits, const CounterLimits &limits = {});

} // namespace imbrex::schedule
