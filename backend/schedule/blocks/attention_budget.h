#pragma once

#include "backend/machine/machine.h"
#include "backend/support/result.h"
#include "backend/support/text.h"

#include <cstdint>
#include <string>
#include <vector>

/// How much shared memory an attention kernel takes whose blocks keep everything there: queries,
/// keys, values and the output's gradient as they come in, the three gradients that go out, and a
/// block x block piece of the attention and of its gradient.
///
///   bytes = stages * 4 * block * headDim * elementBytes    input tiles, one set for each stage
///         + 3 * block * headDim * 4                        accumulators, f32
///         + 2 * block * block * 4                          attention tiles, f32
///         + 4096                                           overhead: alignment and bookkeeping
///
/// Head dimension 64 in 16-bit elements, blocks of 32, one stage: 16384 + 24576 + 8192 + 4096 =
/// 53248 bytes.
namespace imbrex::schedule {

/// What a kernel plans with of the 101,376 bytes that a block has on the machine below.
inline constexpr std::int64_t kAttentionBudgetBytes = 96'000;

/// The machine that the budget and the advice are for; its row has the limits.
const machine::Machine &attentionMachine();

struct AttentionConfig {
  std::int64_t block = 16; ///< Rows of queries and of keys at a time.
  std::int64_t headDim = 64;
  std::int64_t stages = 1; ///< Sets of input tiles.
  std::int64_t warps = 4;
  std::int64_t elementBytes = 2;

  friend bool operator==(const AttentionConfig &, const AttentionConfig &) = default;
};

/// The terms of the formula, in bytes.
struct AttentionBudget {
  std::int64_t inputTiles = 0, accumulators = 0, attentionTiles = 0, overhead = 0;

  std::int64_t total() const { return inputTiles + accumulators + attentionTiles + overhead; }
};

AttentionBudget attentionBudget(const AttentionConfig &config);

using imbrex::toText; // which those of this namespace would hide
/// `input tiles 16384 + accumulators 24576 + attention tiles 8192 + overhead 4096`
std::string toText(const AttentionBudget &budget);

/// All that is wrong with the configuration, each limit under its own name; notes where it only
/// departs from advice, or where the launch has something to do.
///
/// Errors are what cannot run or does not fit: sizes, head dimension, shared memory, threads.
/// Blocks beyond 32, more than 2 stages or 8 warps are matters of speed: a 64 x 64 attention tile
/// is 16 KB and fits where the rest does.
std::vector<Diagnostic> validate(const AttentionConfig &config, Location where = {});

/// A configuration that fits with room: blocks of 32 up to head dimension 64, of 16 up to 128, one
/// stage, 4 warps. Refused beyond: such heads are to be split.
Result<AttentionConfig> safeConfig(std::int64_t headDim, Location where = {});

/// The block size, not rounded, at which the formula reaches `bytes`; below 0 where not even one of
/// 0 fits. `config.block` is not looked at; the other sizes are as `validate` accepts them.
double largestBlock(const AttentionConfig &config, std::int64_t bytes = kAttentionBudgetBytes);

/// The largest block sizes for one and two stages of head dimension 64, beside those of the table
/// that the formula is from, whose solutions are wrong.
std::string largestBlocksText();

} // namespace imbrex::schedule
