#include "backend/schedule/check.h"
#include "backend/schedule/program_text.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

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

TEST_CASE("two loops in a row over the same trips run as often") {
  checkFound(R"(schedule @twice {
  trips %k
  buffer %x 8
  role %r {
    for %k {
    }
    for %k {
      access reads %x
    }
  }
}
)",
             Diag::ScheduleUnwritten);
}

TEST_CASE("numbers of trips that a condition to come tells apart are part of the state") {
  // Each time the read of what nobody has written comes with the third trip.
  for (const char *body : {"for %t { } if count %t > 2 { access reads %x }",
                           "for %t { if count %t > 2 { access reads %x } }",
                           "for %t { if done %t > 1 { access reads %x } }",
                           "for %t { for %k { } if count %k > 2 { access reads %x } }",
                           "for %t { for %k { if count %t > 2 { access reads %x } } }",
                           "for %t { for %k { if done %t > 1 { access reads %x } } }",
                           "for %t { for %k { } } if count %t > 2 { access reads %x }"}) {
    CAPTURE(std::string(body));
    std::string lines = body;
    for (const std::string_view sign : {"{ ", "} "})
      for (std::size_t at = 0; (at = lines.find(sign, at)) != std::string::npos; ++at)
        lines[at + 1] = '\n';
    std::string text = "schedule @told {\n  trips %t\n  trips %k in %t\n  buffer %x 8\n"
                       "  role %all {\n";
    text += lines + "\n  }\n}\n";
    checkFound(text.c_str(), Diag::ScheduleUnwritten);
  }
}

TEST_CASE("states that know different things are not taken for one that knows all of them") {
  // Either the first or the second has heard of the last read, but not of three trips and more.
  checkFound(R"(schedule @told {
  trips %k
  trips %z
  buffer %x 8
  barrier %written
  barrier %heard
  barrier %end arrivals 2
  ring %r depth 1 {
    barrier %full
    barrier %empty
  }
  role %write {
    access writes %x
    arrive %written
    wait %end
    access writes %x
  }
  role %read {
    cursor %p in %r
    wait %written
    access reads %x
    arrive %heard
    for %k {
      access reads %x
      wait %empty(%p) flipped
      arrive %full(%p)
      advance %p
      if done %k > 1 {
        access reads %x
      }
    }
  }
  role %first {
    wait %heard
    arrive %end
  }
  role %second {
    cursor %c in %r
    for %k {
      wait %full(%c)
      arrive %empty(%c)
      advance %c
    }
    for %z {
    }
    arrive %end
  }
}
)",
             Diag::ScheduleOverwriteRace);
}

TEST_CASE("who knows that a wait has passed is part of the state") {
  checkFound(R"(schedule @passes {
  trips %j
  trips %z
  barrier %b
  barrier %heard
  role %waits {
    wait %b
    arrive %heard
    if count %j > 0 {
      wait %b
    }
  }
  role %arrives {
    arrive %b
    wait %heard
    for %z {
    }
    arrive %b
  }
}
)",
             Diag::ScheduleParity);
}

} // namespace imbrex::testing
