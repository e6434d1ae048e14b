#pragma once

#include "backend/schedule/program/program.h"
#include "tests/support/small_schedules.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Mistakes that were made in kernels, compilers and drawings of others, as far as a schedule can
/// make them.
namespace imbrex::testing {

/// What a schedule is refused for.
enum class Fault : std::uint8_t {
  Deadlock,
  ReadRace,        // a read may come before the write that it wants
  OverwriteRace,   // a write may come before the reads of what is there
  WriteRace,       // two writes at the same time
  WrongGeneration, // a read finds another use's content
  ParityAlias,     // a wait can take a phase for the one two before or behind
  EarlyArrival,    // an arrival can count for the phase before
  OverArrival,
  BytesMismatch,
  Unfenced,
  Uninitialised,
  RegisterBudget,
  MeetingParties,
  Depth, // fewer slots than uses in flight
};

struct KnownBug {
  std::string_view id; ///< Of docs' list of known bugs: T1 …; `seed` …: of a published drawing.
  std::string_view what;
  std::vector<Fault> faults; ///< Any of them is a right answer; the first is the most telling.
  std::function<schedule::Program()> defective, repaired;
  TripTable trips = {}; ///< A small case that shows it.
  bool seenByOracle = true;
};

/// Both programs are small versions, of one warp each role where that shows the bug.
const std::vector<KnownBug> &knownBugs();

/// Mistakes that a schedule cannot make.
struct OtherBug {
  std::string_view id, what, where;    ///< Where it is kept from happening.
  std::vector<std::string_view> tests; ///< How the names of those begin that show it.
};

const std::vector<OtherBug> &otherBugs();

std::string toText(Fault fault);

} // namespace imbrex::testing
