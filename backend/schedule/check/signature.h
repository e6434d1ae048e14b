#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace imbrex::schedule::check {

class ClockPlaces;
class Run;

/// What of a run's state the future can depend on, the same for runs that will go on alike:
///
///   phases   their parity, and whether a clock knows that the last one is over
///   uses     how far cursors and contents are from the least that can still be named; slots are
///            in order from there on, for a ring looks the same from each of them
///   trips    how many are left of those decided; how many are done, or are in all, where they are
///            so few that a guard to come could tell
///   clocks   only which of the accesses that are still held against later ones a clock knows to
///            be over, so that each number becomes its rank among those; what all know that it can
///            hold up is told of none, and what a phase has gathered, only as far as one that waits
///            for it does not know it yet
///   claims   nothing else: that none is held is the same as that all know of it, so that a slot
///            which was never used is like one that was and is free
///   cells    one that was never written is like one whose content nobody can ask for any more:
///            either is an error for whoever reads it
///
/// So the size is that of what is under way, and not that of the rings: slots and cells that are
/// alike are counted.
///
/// To know less never helps: a run that knows at least as much as another, and is like it in the
/// rest, fails nowhere where that one does not. What all know that wait for a phase, it may as well
/// have gathered: nobody learns it there.
struct Signature {
  /// A number of a clock that lacks something.
  struct ClockLag {
    std::int32_t row, place; ///< In the order of the signature.
    std::int32_t count;      ///< Of live accesses, or of phases up to 2.
    friend bool operator==(const ClockLag &, const ClockLag &) = default;
  };
  /// By row and place; the numbers that are not there lack nothing.
  using ClockLags = std::vector<ClockLag>;

  std::vector<std::int32_t> rest;
  ClockLags lacks;
  std::int64_t work = 0;                     ///< Numbers that were looked at.
  std::shared_ptr<const ClockPlaces> places; ///< Knows where in the run its lacks are.
};
/// Of a run that has forgotten what is known.
Signature signatureOf(const Run &run);

/// Whether one knows no more than the other, of runs that are alike in the rest.
bool knowsNoMore(const Signature::ClockLags &one, const Signature::ClockLags &other);
/// What both know.
Signature::ClockLags common(const Signature::ClockLags &one, const Signature::ClockLags &other);
/// Makes the run of a signature know no more than that, which is of a run like it in the rest.
void weaken(Run &run, const Signature &signature, const Signature::ClockLags &lacks);

} // namespace imbrex::schedule::check
