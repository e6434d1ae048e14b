#pragma once

#include "backend/schedule/program/program.h"

#include <array>
#include <optional>
#include <string>

/// The role that computes as two groups of warps, each with half of its tile.
namespace imbrex::schedule {

using GroupRoles = std::array<RoleId, 2>;

/// Make two roles of one: each has half of the warps and all of the operations, which cost half.
/// What the role only reads, both do. Runs between `splitRoles` and `addBarriers`. Nothing, with
/// the reason in `why`, where the role cannot be halved.
std::optional<GroupRoles> splitInGroups(Program &program, RoleId role, std::string &why);

/// Let the groups' products take turns in each trip of a loop, so that one multiplies while the
/// other does what follows:
///
///   before                      after, in the first group
///   for %n {                    for %n {
///     wait %K_V.full(%c)          wait %K_V.full(%c)
///                                 wait %compute0.turn(%mine) flipped   <- the first turn is free
///     issue %products …           issue %products …
///     commit %products            commit %products
///                                 arrive %compute1.turn(%theirs)
///     access …                    access …
///     advance %c                  advance %c  advance %mine  advance %theirs
///   }                           }
///
/// A turn is from the first product of a trip up to what is not a product. As many arrive as the
/// other group has warps. Runs behind `addBarriers`, so that nobody has the turn who waits for
/// data, and before `addDrains`.
void takeTurns(Program &program, const GroupRoles &groups, TripsId loop);

/// What half of an operation costs: half of the time for which the resource is busy is saved.
Cost halved(Cost cost);

} // namespace imbrex::schedule
