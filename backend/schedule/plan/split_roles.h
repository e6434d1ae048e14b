#pragma once

#include "backend/schedule/program/program.h"
#include "backend/support/diagnostics.h"

#include <optional>
#include <string>
#include <vector>

namespace imbrex::schedule {

/// One role of a split.
struct RoleChoice {
  std::string name;
  std::int32_t warps = 1;
  std::int32_t registers = 0; ///< Of each thread; 0: as the launch gives.
};

/// Who does what.
struct RoleSplit {
  std::vector<RoleChoice> roles;
  /// By operation of the work that touches memory or a queue, in order: which role runs it.
  std::vector<std::uint32_t> roleOf;
};

/// Give each operation of a sequential program to a role.
///
///   before                            after
///   role %all                         ring %A_B depth 1 { buffer %A …  buffer %B … }
///     for %k {                        role %load                role %compute
///       copy writes %A, %B              for %k {                  for %k {
///       access reads %A, %B               copy writes %A(%p), …     access reads %A(%c), …
///     }                                   advance %p                advance %c
///                                       }                         }
///
/// `work` has one role and no ring: what one trip leaves, the next may use. Each role keeps the
/// loops and conditions around its operations, so that all count the same trips. A buffer that
/// two roles touch becomes slots of a ring, also where it lay in registers. The ring's rate is the
/// innermost loop around all that touch the buffer: one use for each trip of it. Buffers of the
/// same rate, producer and consumers share a ring and its barriers. How many slots it gets is left
/// to who plans.
///
/// What a role writes before a loop and at the end of each trip, for others to read in the next
/// one, is a use more than the loop has trips: trip i reads use i and writes use i + 1. The others
/// read the last one behind the loop, if only to give it back.
///
/// Runs before `addBarriers` and `addDrains`, which order what the roles share. Nothing, and
/// errors, where the work has rings already, or a role writes again what another has read in any
/// other way.
std::optional<Program> splitRoles(const Program &work, const RoleSplit &split,
                                  Diagnostics &diagnostics);

} // namespace imbrex::schedule
