#pragma once

#include <cstdint>
#include <vector>

namespace imbrex::schedule::check {

class Run;

/// What of a run's state the future can depend on, the same for runs that will go on alike:
///
///   phases   their parity, and whether a clock knows that the last one is over
///   uses     how far cursors and contents are from the least that can still be named; slots are
///            in order from there on, for a ring looks the same from each of them
///   trips    how many are left of those decided, and whether few enough are done that a guard
///            could tell
///   clocks   only which of the accesses that are still held against later ones a clock knows to
///            be over, so that each number becomes its rank among those
///
/// To know less never helps: a run that knows at least as much as another, and is like it in the
/// rest, fails nowhere where that one does not.
struct Signature {
  std::vector<std::int32_t> rest;
  std::vector<std::int32_t> known;
};
Signature signatureOf(const Run &run);

/// Makes a run know no more than `known`, which is of a run like it in the rest.
void weaken(Run &run, const std::vector<std::int32_t> &known);

} // namespace imbrex::schedule::check
