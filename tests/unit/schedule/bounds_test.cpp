#include "backend/schedule/check/check.h"
#include "backend/schedule/check/used_slots.h"
#include "tests/unit/schedule/timed_programs.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex;
using namespace imbrex::schedule;
using namespace imbrex::testing;

namespace {

/// A loader and a reader that waits for what it reads, or not.
Program streamed(const std::string &depth, bool waits, const std::string &buffer = "") {
  return parsed(
      "trips %k ring %R depth " + depth + " { buffer %A 64 " + buffer +
      " barrier %full barrier %empty }\n"
      "role %load { cursor %p in %R for %k { wait %empty(%p) flipped\n"
      "  expect %full(%p) bytes 64 copy writes %A(%p) to %full(%p) bytes 64 advance %p } }\n"
      "role %use { cursor %c in %R for %k { " +
      (waits ? "wait %full(%c) " : "") + "access reads %A(%c) arrive %empty(%c) advance %c } }\n");
}

} // namespace

TEST_CASE("a run of few trips has no more slots than it comes to, and finds the same") {
  for (const bool waits : {false, true})
    for (const std::int32_t trips : {0, 1, 3, 90}) {
      CAPTURE(waits);
      CAPTURE(trips);
      const Verdict deep = checkAt(streamed("65536", waits), sameTrips({trips}));
      const Verdict enough = checkAt(streamed("200", waits), sameTrips({trips}));
      CHECK(deep.isSafe() == (waits || trips == 0));
      CHECK(deep.steps == enough.steps);
      REQUIRE(deep.findings.size() == enough.findings.size());
      for (std::size_t i = 0; i < deep.findings.size(); ++i)
        CHECK(deep.findings[i].what.message == enough.findings[i].what.message);
    }
}

TEST_CASE("rings keep the slots that are gone round, set back, or lie somewhere") {
  const auto slotsFor = [](const Program &program, std::int32_t trips) {
    return check::withSlotsFor(program, sameTrips({trips})).rings.front().depth;
  };
  CHECK(slotsFor(streamed("1000", true), 10) < 100);
  CHECK(slotsFor(streamed("1000", true), 500) > 500);
  CHECK(slotsFor(streamed("1000", true), 1000) == 1000);
  CHECK(slotsFor(streamed("3", true), 1) == 3);
  CHECK(slotsFor(streamed("1000", true, "at 0"), 10) == 1000);
}

TEST_CASE("what a proof cannot hold is refused with the ring that is too deep") {
  const Verdict deep = prove(streamed("65536", true));
  REQUIRE(deep.findings.size() == 1);
  CHECK(deep.findings.front().what.kind == Diag::ScheduleTooLarge);
  const Verdict parts = checkAt(
      parsed("buffer %A 2147483647 parts 2147483647 role %a { access writes %A(own) }"), nullptr);
  REQUIRE(parts.findings.size() == 1);
  CHECK(
      parts.findings.front().what.message ==
      "schedule 'test' is too large to be proven: it has 2147483647 slots and parts of slots that "
      "1 warp may come to");
}
