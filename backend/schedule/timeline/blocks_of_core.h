#pragma once

#include "backend/schedule/program/program.h"

#include <string>
#include <string_view>

/// Blocks that a core holds at once wait each for its own, and share what the core has: the gaps
/// of one are filled by the others.
namespace imbrex::schedule {

/// A resource of which a core has several, and a block one: those of the next block are the next's.
struct DealtResource {
  std::string_view name = {};
  std::int32_t parts = 1;
};

/// What the part that a block with this number uses is called: the resource's own name where there
/// is one alone.
std::string partOf(const DealtResource &dealt, std::int32_t block);

/// The program of so many blocks, each like this one: it has roles, rings and barriers of its own,
/// with its number behind their names. Trips and resources, but for the one that is dealt, are the
/// same for all. For `simulate` and `initiationInterval`; nothing is said of where buffers lie.
Program blocksOfCore(const Program &block, std::int32_t blocks, const DealtResource &dealt = {});

} // namespace imbrex::schedule
