#pragma once

#include "backend/schedule/program/program.h"
#include "backend/support/diagnostics.h"

#include <optional>

namespace imbrex::schedule {

/// Let a role start the loads of a loop some trips before it needs them.
///
///   before                              after, for 3 slots
///   buffer %A                           ring %A depth 3 { buffer %A }
///   for %k {                            if count %k > 0 { issue %q writes %A(%p); advance %p }
///     issue %q writes %A                commit %q
///     commit %q                         if count %k > 1 { issue %q writes %A(%p); advance %p }
///     access reads %A                   commit %q
///   }                                   for %k {
///                                         if left %k > 2 { issue %q writes %A(%p); advance %p }
///                                         commit %q
///                                         access reads %A(%c)
///                                         advance %c
///                                       }
///
/// A load is an operation on `queue`; loads must be at the top of the loop's body, each buffer that
/// they write must be written by them alone and be used in this loop alone. A commit stays where no
/// load is left: groups are counted, and an empty one is over at once. On a queue whose entries are
/// the loads themselves the last trips come behind the loop, one by one, for there the counts are
/// smaller:
///
///   for %k less 2 { issue %q …; advance %p; access reads %A(%c); advance %c }
///   if count %k > 1 { access reads %A(%c); advance %c }
///   if count %k > 0 { access reads %A(%c); advance %c }
///
/// Runs on a program of one role, before `addDrains`, which counts what is issued. Nothing, and
/// errors, where the loads are not as said.
std::optional<Program> prefetch(Program work, QueueId queue, TripsId loop, std::int32_t slots,
                                Diagnostics &diagnostics);

} // namespace imbrex::schedule
