#pragma once

#include "backend/machine/machine.h"
#include "backend/schedule/program/program.h"
#include "backend/support/diagnostics.h"

#include <vector>

namespace imbrex::schedule {

/// What a schedule takes of a block, in bytes and warps.
struct Demand {
  std::int64_t sharedBytes = 0;         ///< Slots, each from a multiple of 128 on, and barriers.
  std::int64_t tensorBytes = 0;         ///< Of a tensor core's memory.
  std::int32_t warps = 0;               ///< With those that only fill a group of four.
  std::vector<std::int32_t> firstWarps; ///< By role.
};

/// Roles follow each other in their order; one of whole groups of four warps starts with a group,
/// for registers are changed by groups.
Demand demandOf(const Program &program);

/// Give roles of whole groups of four warps as many registers as there are when the others keep as
/// few as they may: see role_registers.h. Where no such roles stand beside others, no split is
/// right, or the machine's warps cannot hand any over, all keep what the launch gives.
void handOverRegisters(Program &program, const machine::Machine &machine, std::int32_t minBlocks);

/// Report all that a schedule takes and a block of this machine does not have: shared memory,
/// tensor memory, threads, registers of roles that change theirs, parties of meetings, numbers of
/// meetings. True where nothing is.
bool checkBudget(const Program &program, const machine::Machine &machine, std::int32_t minBlocks,
                 Diagnostics &diagnostics);

} // namespace imbrex::schedule
