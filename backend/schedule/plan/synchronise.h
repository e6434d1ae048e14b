#pragma once

#include "backend/schedule/program/program.h"
#include "backend/support/diagnostics.h"

#include <optional>
#include <vector>

namespace imbrex::schedule {

/// What a plan says of a queue beyond the program.
struct QueuePlan {
  /// For how many trips of its loop what it reads may be under way when a role goes on: more hides
  /// more latency and wants as many slots more.
  std::int32_t inFlight = 0;
  /// It can arrive at a barrier by itself when its operations have ended, so that the role need not
  /// wait for them.
  bool signals = false;
};

/// Put the barriers between roles into a program that has none: two for each slot of a ring whose
/// producer and consumers are different roles.
///
///   before                              after
///   role %load                          role %load
///     for %k {                            for %k {
///                                           wait %empty(%p) flipped
///                                           expect %full(%p) bytes 32768
///       copy writes %A(%p) …                copy writes %A(%p) to %full(%p) …
///       advance %p                          advance %p
///     }                                   }
///   role %compute                       role %compute
///     for %k {                            for %k {
///                                           wait %full(%c)
///       issue %q reads %A(%c)               issue %q reads %A(%c)
///       commit %q                           commit %q
///                                           drain %q
///                                           arrive %empty(%c)
///       advance %c                          advance %c
///     }                                   }
///
/// How often a phase is arrived at follows from who takes part: a consumer's warp once each, since
/// a drain speaks for its own warp alone; a producer's warp once, by the copies' expectation, by
/// its queue, or by itself. No slot is given to the producer at the start: it waits for the phase
/// before the first, which counts as over.
///
/// Runs on the final order of operations, for what is counted and what comes last depends on it.
/// `queues` is by queue. Nothing, and errors, where a ring has two producers or a copy's bytes are
/// not known for each use.
std::optional<Program> addBarriers(Program program, const std::vector<QueuePlan> &queues,
                                   Diagnostics &diagnostics);

} // namespace imbrex::schedule
