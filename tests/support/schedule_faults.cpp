#include "tests/support/schedule_bugs.h"

namespace imbrex::testing {

const std::vector<OtherBug> &otherBugs() {
  static const std::vector<OtherBug> bugs = {
      {"T9", "two blocks share the registers that one was given", "the budget of a launch"},
      {"T12", "a role needs more registers than it keeps", "the code generator's own count"},
      {"T21", "a drain to 0 where a larger count would do", "the test that no drain can be weaker"},
      {"T25", "a meeting is duplicated by an optimisation", "its emission: convergent, once"},
      {"T30", "an aligned barrier in a branch", "its emission: never aligned in a branch"},
      {"T45 order", "a drain and a meeting between which the optimiser may move",
       "their emission: one unit with its fences"},
  };
  return bugs;
}

std::string toText(Fault fault) {
  switch (fault) {
  case Fault::Deadlock: return "deadlock";
  case Fault::ReadRace: return "read race";
  case Fault::OverwriteRace: return "overwrite race";
  case Fault::WriteRace: return "write race";
  case Fault::WrongGeneration: return "wrong generation";
  case Fault::ParityAlias: return "parity alias";
  case Fault::EarlyArrival: return "early arrival";
  case Fault::OverArrival: return "over-arrival";
  case Fault::BytesMismatch: return "bytes mismatch";
  case Fault::Unfenced: return "unfenced";
  case Fault::Uninitialised: return "uninitialised";
  case Fault::RegisterBudget: return "register budget";
  case Fault::MeetingParties: return "meeting parties";
  case Fault::Depth: return "depth";
  }
  return "";
}

} // namespace imbrex::testing
