#include "tests/support/schedule_oracle.h"
#include "tests/unit/schedule/timed_programs.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex;
using namespace imbrex::schedule;
using namespace imbrex::testing;

namespace {

bool isFirst(Diag kind, const Program &program) {
  const Verdict verdict = prove(program);
  return !verdict.isSafe() && verdict.findings.front().what.kind == kind;
}

bool isFoundIn(Diag kind, const std::string &body) { return isFirst(kind, parsed(body)); }

/// So that the oracle sees a race in it, too.
bool isRaceToBoth(Diag kind, const std::string &body) {
  const Program program = parsed(body);
  const auto once = [](TripsId, std::int64_t) { return std::int64_t{1}; };
  const Exploration all = explore(program, once);
  REQUIRE(all.complete);
  CHECK(all.failures.contains(testing::Failure::Race));
  return isFirst(kind, program);
}

} // namespace

TEST_CASE("what reads and writes at once is held against others like it, and not against itself") {
  CHECK(isRaceToBoth(Diag::ScheduleOverwriteRace,
                     "buffer %x 8 role %one { queue %f access writes %x issue %f reads %x "
                     "issue %f reads %x writes %x drain %f }"));
  // The copies land in one phase, so that their ends are the same moment.
  CHECK(isRaceToBoth(Diag::ScheduleOverwriteRace,
                     "barrier %full buffer %x 8 buffer %y 8 role %one { access writes %x fence "
                     "expect %full bytes 16 copy reads %x writes %y to %full bytes 8 "
                     "copy writes %x to %full bytes 8 wait %full }"));
  CHECK(isRaceToBoth(Diag::ScheduleOverwriteRace,
                     "barrier %full arrivals 2 buffer %x 8 parts 2 meeting %all parties 2 "
                     "role %both warps 2 { access writes %x(own) fence meet %all "
                     "expect %full bytes 8 copy reads %x(part 0) writes %x(own) to %full bytes 8 "
                     "wait %full }"));
  CHECK(prove(parsed("buffer %x 8 role %one { queue %f access writes %x "
                     "issue %f reads %x writes %x drain %f }"))
            .isSafe());
}

TEST_CASE("who has waited in a meeting knows nothing of the next one with its number") {
  CHECK(isRaceToBoth(Diag::ScheduleReadRace,
                     "buffer %x 8 barrier %z meeting %one parties 2 meeting %two parties 2 "
                     "role %first { meet %one access reads %x } "
                     "role %second { meet %one arrive %z meet %two } "
                     "role %third { wait %z access writes %x meet %two }"));
}

TEST_CASE("bytes are expected before the last arrival, whether or not they ever land") {
  CHECK(isFoundIn(Diag::ScheduleLateExpect,
                  "barrier %full meeting %all parties 2 role %first { meet %all arrive %full } "
                  "role %second { meet %all wait %full flipped expect %full bytes 16 count 0 }"));
  CHECK(prove(parsed("barrier %full meeting %all parties 2 role %first { meet %all arrive %full } "
                     "role %second { expect %full bytes 16 count 0 meet %all }"))
            .isSafe());
}

TEST_CASE("a copy writes over what was written plainly behind a fence alone") {
  CHECK(isFoundIn(Diag::ScheduleUnfenced, R"(barrier %full buffer %x 8
    role %one { access writes %x expect %full bytes 8 copy writes %x to %full bytes 8
      wait %full })"));
}

TEST_CASE("registers may still be written when the block ends") {
  CHECK(prove(parsed("buffer %x 8 registers role %one { queue %f issue %f writes %x }")).isSafe());
}
