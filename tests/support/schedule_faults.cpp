#include "tests/support/schedule_bugs.h"

namespace imbrex::testing {

const std::vector<OtherBug> &otherBugs() {
  static const std::vector<OtherBug> bugs = {
      {"T9",
       "two blocks share the registers that one was given",
       "the budget of a launch",
       {"T9: two blocks on a core halve the pool"}},
      {"T12",
       "a role whose threads copy has fewer registers than that takes",
       "the budget of a launch",
       {"T12: a producer whose threads copy has too few with 24"}},
      {"T21",
       "a drain to 0 where a larger count would do",
       "counts are the largest that are safe",
       {"streams are safe at every depth, and no drain could be weaker and no meeting missing"}},
      {"T25",
       "a meeting is duplicated by an optimisation",
       "the assembly is read back, way by way",
       {"a copy, group, wait or meeting that the assembly lacks or has too many of is found",
        "what the assembly lacks or does too often to barriers and boxes is found"}},
      {"T30",
       "the threads of a warp come to an aligned barrier on two sides of a branch",
       "whole warps have a role, and the emulator refuses others",
       {"every mistake in meeting others is found under every seed, and its lines are named"}},
      {"T45 order",
       "a drain and a meeting between which the optimiser may move",
       "they are emitted between two fences, without which code is refused",
       {"without any one of its fences and barriers, or waits, code for"}},
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
