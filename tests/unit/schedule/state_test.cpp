#include "backend/schedule/check/check.h"
#include "backend/schedule/program/program_text.h"

#include <doctest/doctest.h>

#include <string>

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

TEST_CASE("to which trip of the loop around a known number belongs is part of the state") {
  // The first role is a trip ahead. Where %z is 0 in its first trip and not in its second, and %k
  // is not 0 in that, its one write is not ended when the second role, whose %k is 0, does not
  // wait. Where it is the other way round, the same is known of one %k: that for which the role
  // waits.
  checkFound(R"(schedule @ahead {
  trips %o least 2
  trips %z in %o
  trips %k in %o
  trips %j in %o
  ring %X depth 2 {
    buffer %x 8
  }
  ring %T depth 1 {
    barrier %told
  }
  meeting %both parties 2
  role %ahead {
    cursor %a in %X
    cursor %p in %T
    queue %q serial
    for %o {
      if count %z > 0 {
        if count %k > 0 {
          issue %q writes %x(%a)
        }
        advance %a
      }
      if done %o > 0 {
        meet %both
        drain %q
        arrive %told(%p)
        advance %p
        meet %both
        reset %a
      }
    }
  }
  role %behind {
    cursor %y in %X
    cursor %w in %T
    for %o less 1 {
      meet %both
      if count %j > 0 {
      }
      if count %k > 0 {
        wait %told(%w)
      }
      if done %o > 0 {
        wait %told(%w)
      }
      access writes %x(%y)
      wait %told(%w)
      advance %w
      meet %both
    }
  }
}
)",
             Diag::ScheduleWriteRace);
}

TEST_CASE("how many bytes a phase lacks is part of the state") {
  checkFound(R"(schedule @phase {
  trips %j
  trips %k
  barrier %full arrivals 2
  buffer %x 16
  role %first {
    if count %j > 0 {
      expect %full bytes 16 count 0
    }
    expect %full bytes 16
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
    const std::string text = std::string("schedule @told { trips %t trips %k in %t buffer %x 8 ") +
                             "role %all { " + body + " } }";
    checkFound(text.c_str(), Diag::ScheduleUnwritten);
  }
}

TEST_CASE("how often a loop runs is part of the state while one around it may come to it again") {
  checkFound(R"(schedule @again {
  trips %o
  trips %k
  trips %z
  buffer %x 8
  role %r {
    for %o {
      for %k {
        if done %o > 0 {
          access reads %x
        }
      }
      if count %z > 0 {
      }
    }
  }
}
)",
             Diag::ScheduleUnwritten);
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

// In the following, %z is a question that nothing depends on: there states are held against each
// other. The one that fails comes behind one that does not: of one question before, no is answered
// first; of two, both yes.

TEST_CASE("of which loop a number is known is part of the state") {
  // Known is either %j or %k, each above 0, and a write into the first slot is under way. For %j
  // the second role waits.
  checkFound(R"(schedule @known {
  trips %i
  trips %j
  trips %h
  trips %k
  trips %z
  ring %X depth 2 {
    buffer %x 8
  }
  barrier %told
  meeting %both parties 2
  role %first {
    cursor %a in %X
    queue %q serial
    if count %i > 0 {
      if count %j > 0 {
        issue %q writes %x(%a)
      }
      advance %a
    }
    if count %h > 0 {
      if count %k > 0 {
        issue %q writes %x(%a)
      }
      advance %a
    }
    meet %both
    drain %q
    arrive %told
  }
  role %second {
    cursor %y in %X
    meet %both
    if count %z > 0 {
    }
    if count %j > 0 {
      wait %told
    }
    access writes %x(%y)
    if count %k > 0 {
    }
    wait %told
  }
}
)",
             Diag::ScheduleWriteRace);
}

TEST_CASE("which barrier somebody has not heard of that it was made is part of the state") {
  checkFound(R"(schedule @made {
  trips %i
  trips %j
  trips %z
  barrier %other
  barrier %used
  meeting %both parties 2
  role %makes {
    init %other
    init %used
    meet %both
    if count %j > 0 {
    }
    if count %i > 0 {
      init %used
    }
    if count %j > 0 {
      meet %both
      init %other
    }
  }
  role %uses {
    meet %both
    if count %j > 0 {
      meet %both
    }
    if count %z > 0 {
    }
    arrive %used
  }
}
)",
             Diag::ScheduleUnmade);
}

TEST_CASE("that a barrier was made behind the last fence is remembered when all know of it") {
  checkFound(R"(schedule @unfenced {
  trips %z
  barrier %b
  role %r {
    queue %q async
    init %b
    if count %z > 0 {
    }
    signal %b after %q
    wait %b
  }
}
)",
             Diag::ScheduleUnmade);
}

TEST_CASE("which cell a queue may still be reading is part of the state") {
  checkFound(R"(schedule @reading {
  trips %i
  trips %j
  trips %z
  buffer %x 8
  buffer %y 8
  barrier %over
  meeting %both parties 2
  role %reads {
    queue %q
    access writes %x, %y
    if count %j > 0 {
    }
    if count %i > 0 {
      issue %q reads %x
    }
    if count %j > 0 {
      drain %q
      issue %q reads %y
    }
    meet %both
    drain %q
    arrive %over
  }
  role %writes {
    meet %both
    if count %z > 0 {
    }
    access writes %x
    wait %over
    access writes %y
  }
}
)",
             Diag::ScheduleOverwriteRace);
}

TEST_CASE("which of the buffers that share memory was written last is part of the state") {
  checkFound(R"(schedule @shared {
  trips %i
  trips %z
  buffer %x 8 at 0
  buffer %y 8 at 0
  role %r {
    access writes %x
    if count %i > 0 {
      access writes %y
    }
    if count %z > 0 {
    }
    access reads %x
  }
}
)",
             Diag::ScheduleWrongContent);
}

TEST_CASE("the parity of a barrier is part of the state") {
  checkFound(R"(schedule @parity {
  trips %i
  trips %z
  barrier %b
  role %r {
    if count %i > 0 {
      arrive %b
      wait %b
    }
    if count %z > 0 {
    }
    arrive %b
    wait %b
  }
}
)",
             Diag::ScheduleParity);
}

TEST_CASE("what a drain would wait for is part of the state") {
  // The last write is of the group that is closed, or of one that is not.
  checkFound(R"(schedule @closed {
  trips %i
  trips %z
  buffer %x 8
  buffer %y 8
  role %r {
    queue %q serial grouped
    issue %q writes %y
    issue %q writes %x
    commit %q
    if count %i > 0 {
      issue %q writes %x
    }
    if count %z > 0 {
    }
    drain %q
    access reads %x, %y
  }
}
)",
             Diag::ScheduleReadRace);
  // Two entries are younger than the last write, or one is.
  checkFound(R"(schedule @younger {
  trips %i
  trips %j
  trips %z
  buffer %x 8
  role %r {
    queue %q serial
    access writes %x
    if count %j > 0 {
    }
    if count %i > 0 {
      issue %q writes %x
      issue %q
    }
    if count %j > 0 {
      issue %q writes %x
      issue %q count 2
    }
    if count %z > 0 {
    }
    drain %q to 2
    access reads %x
    drain %q
  }
}
)",
             Diag::ScheduleReadRace);
}

} // namespace imbrex::testing
