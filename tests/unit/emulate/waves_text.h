#pragma once

#include "backend/schedule/program/program.h"

#include <cstdint>
#include <string>
#include <vector>

/// Schedules whose warps count their own loads, as waves of a gfx9 would run them.
namespace imbrex {

/// A kernel that does what the roles of a schedule say for so many trips, straight on: roles follow
/// each other in the block's waves; entries of direct loads, into shared memory, are
/// `global.load.lds` of a word for each lane, a drain of theirs is `s_waitcnt vmcnt`, a meeting is
/// `s_barrier`. What goes through registers is loaded where it is stored, by plain loads and
/// stores, which wait for themselves. It takes `in`, with words for each buffer and use, and `out`,
/// into which each lane leaves a sum of all that it has read, from other lanes' words.
struct WavesText {
  std::string text;
  std::int32_t threads = 0;
  std::vector<std::int32_t> in;
  std::vector<std::int32_t> expected; ///< In `out`.
};

WavesText wavesText(const schedule::Program &program, std::int32_t trips);

} // namespace imbrex
