#pragma once

#include "backend/schedule/program/program.h"

#include <cstdint>

/// Waits by counting.
namespace imbrex::schedule {

/// Put the weakest drains, and the fewest meetings, into each role, so that what its warps hand on
/// by queues and memory of their own is there when it is used, and is not overwritten while it is.
///
///   before                          after
///   for %k {                        for %k {
///                                     drain %q to 1          <- the group of this trip's slot
///                                     meet %compute          <- and that of the other warps
///     issue %q writes %S(%p, own)     issue %q writes %S(%p, own)
///     commit %q                       commit %q
///     advance %p                      advance %p
///     access reads %S(%c)             access reads %S(%c)
///     advance %c                      advance %c
///   }                               }
///
/// A queue ends its operations in the order in which they were issued, so that "at most n are under
/// way" is the only question it answers; the largest n that is enough is the number of entries
/// issued after the last operation that must be over, the fewest over all paths. It speaks for one
/// warp: between an operation and another warp's use of the same memory there must be a meeting as
/// well, behind the drain. Of the places that suit, the meeting gets the last one, before the first
/// operation that needs it, which makes the fewest.
///
/// Rings between roles are left to `addBarriers`. Runs on the final order of operations: a count is
/// of what is issued in between.
Program addDrains(Program program);

/// How many trips of loops are walked to find them, of numbers that conditions tell apart: the
/// most of all roles.
std::int64_t tripsToWalk(const Program &program);

} // namespace imbrex::schedule
