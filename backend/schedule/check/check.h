#pragma once

#include "backend/schedule/program/program.h"
#include "backend/support/diagnostics.h"

#include <cstdint>
#include <string>
#include <vector>

/// Whether a schedule is safe: no deadlock, no race, every read finds the content it wants.
///
/// All waits of a program block and none polls, so that what happens before what is the same in
/// every run, provided that no wait can mistake one phase of a barrier for another and no arrival
/// can land in another phase than in this run. One run therefore decides, with vector clocks that
/// know for each agent which accesses have ended *for certain*, if it also checks that proviso:
///
///   parity        a barrier ends a phase only after every wait for the phase before has passed
///   early arrival who arrives at a phase knows that the one before is over
///   late expect   what expects bytes without an arrival is known to one that arrives in the phase
///
/// What remains are the trip counts. The run decides each lazily, when a role first asks whether
/// there is one more trip, and goes both ways. The states at these forks are compared with all that
/// was not used again left out (how long ago, not when; parity, not phase): a schedule whose roles
/// keep in step has finitely many, and when all are visited the proof holds for every trip count,
/// in nested loops for every sequence of them.
///
/// The checker reads nothing but the program. It shares no code with what makes schedules. Not
/// covered: addresses within a slot, blocks that wait for each other, and timing, which is never an
/// argument.
namespace imbrex::schedule {

/// Something that is wrong with a program, and a run that shows it.
struct Finding {
  Diagnostic what;
  std::string trips = {};              ///< The trip counts of the run: "k = 3".
  std::vector<std::string> trace = {}; ///< The run, step by step.
};

struct Verdict {
  /// Of the shortest run that has any; empty: the program is safe.
  std::vector<Finding> findings;
  std::int64_t states = 0; ///< Forks that were visited.
  std::int64_t steps = 0;  ///< Operations that were run.
  std::int64_t work = 0;   ///< Numbers that were looked at or copied: about what it costs.

  bool isSafe() const { return findings.empty(); }
};

/// Prove a program for all trip counts. It must be well formed (well_formed.h).
Verdict prove(const Program &program);

/// Whether a proof, or to find a run that fails, takes more work than that. Not to find one costs
/// twice as much at most.
bool takesMoreWork(const Program &program, std::int64_t than);

/// As many each time that a loop runs: `counts[id.index()]`.
TripCount sameTrips(std::vector<std::int32_t> counts);

/// The same for given numbers of trips alone.
Verdict checkAt(const Program &program, const TripCount &count);

/// The findings as errors, each with its trips and trace behind it; true when there is none.
bool report(const Verdict &verdict, Diagnostics &diagnostics);

} // namespace imbrex::schedule
