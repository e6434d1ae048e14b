#pragma once

#include "backend/schedule/program/program.h"

#include <optional>

namespace imbrex::schedule::check {

/// A program with all runs of the given one and more: the trips of a loop in another, of which
/// nobody asks outside of that one, may be other ones in each of its trips.
///
///   before                   after
///   trips %tiles             trips %tiles
///   trips %k                 trips %k in %tiles
///   for %tiles {             for %tiles {
///     for %k {                 for %k {
///
/// What is safe in all these runs is safe in the given ones, and takes far fewer states to prove:
/// between two tiles nobody need remember a number that has no bound. Nothing where there are no
/// such trips.
std::optional<Program> withFreeTrips(const Program &program);

} // namespace imbrex::schedule::check
