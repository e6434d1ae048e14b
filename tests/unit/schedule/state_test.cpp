#include "backend/schedule/check.h"
#include "backend/schedule/program_text.h"

#include <doctest/doctest.h>

/// What the state between trips must tell apart: were one of these forgotten, a run that fails
/// would be taken for one that was there before.
namespace imbrex::testing {
namespace {

schedule::Verdict proofOf(const char *text) {
  Diagnostics diagnostics;
  const auto program = schedule::parse(text, "state.imx", diagnostics);
  REQUIRE_MESSAGE(program, diagnostics.render());
  return schedule::prove(*program);
}

void checkFound(const char *text, Diag kind) {
  const schedule::Verdict verdict = proofOf(text);
  REQUIRE_FALSE(verdict.isSafe());
  CHECK(verdict.findings.front().what.kind == kind);
}

} // namespace

TEST_CASE("which reads may still be under way is part of the state") {
  checkFound(R"(schedule @reads {
  trips %t
  trips %k in %t
  buffer %x 8
  buffer %y 8
  meeting %all parties 2
  role %first {
    access writes %x
    access writes %y
    meet %all
    access reads %x
    for %t {
      for %k {
        access reads %x
      }
      access reads %y
    }
    meet %all
  }
  role %second {
    meet %all
    access reads %x
    for %t {
      for %k {
      }
      for %k {
        access reads %y
        meet %all
      }
    }
    meet %all
  }
}
)",
             Diag::ScheduleDeadlock);
}

TEST_CASE("how often a loop runs is part of the state while a role has not come to it") {
  checkFound(R"(schedule @awaited {
  trips %t
  trips %k in %t
  trips %q in %t
  ring %r depth 2 {
    barrier %full
    barrier %empty
  }
  buffer %x 8
  meeting %all parties 2
  role %first {
    cursor %f in %r
    for %t {
      meet %all
      wait %empty(%f) flipped
      arrive %full(%f)
      advance %f
      for %k {
      }
    }
  }
  role %second {
    cursor %s in %r
    for %t {
      meet %all
      if count %q > 0 {
      }
      wait %full(%s)
      arrive %empty(%s)
      advance %s
      for %k {
        access reads %x
      }
    }
  }
}
)",
             Diag::ScheduleUnwritten);
}

TEST_CASE("how many bytes a phase lacks is part of the state") {
  checkFound(R"(schedule @phase {
  trips %j
  trips %k
  barrier %full arrivals 2
  buffer %x 16
  role %first {
    expect %full bytes 16
    if count %j > 0 {
      expect %full bytes 16 count 0
    }
  }
  role %second {
    if count %k > 0 {
    }
    copy writes %x to %full bytes 16
    arrive %full
    wait %full
    access reads %x
  }
}
)",
             Diag::ScheduleDeadlock);
}

} // namespace imbrex::testing
