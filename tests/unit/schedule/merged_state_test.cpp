#include "tests/unit/schedule/timed_programs.h"

#include <doctest/doctest.h>

#include <string>

/// What states must tell apart that are taken together where they differ in knowledge alone. In
/// each program a run that is safe comes to a question first, and one that fails, and is like it
/// but for one thing, is compared with it there.
namespace imbrex::testing {
namespace {

/// A run decides `%j`, then `%k`: what follows is run with more of the later ones first.
const std::string kFirstMore = "if count %j > 0 { } if count %k > 0 { } ";
const std::string kAsked = "if count %q > 0 { } ";
const std::string kNumbers = "trips %j trips %k trips %q ";

std::string onlyMore(const std::string &ops) { return "if count %j > 0 { " + ops + " } "; }

std::string role(const std::string &name, const std::string &ops) {
  return "role %" + name + " { " + ops + " } ";
}

void checkFound(const std::string &body, Diag kind) {
  const schedule::Verdict verdict = schedule::prove(parsed(body));
  REQUIRE_FALSE(verdict.isSafe());
  CHECK(info(verdict.findings.front().what.kind).name == info(kind).name);
}

/// One role does something and tells two others of it, one, or nobody. Those meet a third, which
/// acts: it is unsafe where neither of the two knows.
std::string told(const std::string &what, const std::string &does, const std::string &acts,
                 const std::string &before) {
  const std::string numbers = "if count %i > 0 { } " + kFirstMore;
  const std::string one = "if count %i > 0 { meet %one } ", other = onlyMore("meet %other");
  return "trips %i " + kNumbers + what +
         " meeting %one parties 2 number 1 meeting %other parties 2 number 2 meeting %all parties "
         "3 " +
         role("teller", does + " " + numbers + one + other) +
         role("first", numbers + one + before + "meet %all") +
         role("second", numbers + other + before + "meet %all") +
         role("third", numbers + kAsked + "meet %all " + acts);
}

} // namespace

TEST_CASE("that a meeting is over which somebody does not know of is part of the state") {
  checkFound(kNumbers + "meeting %two parties 2 " + role("first", onlyMore("meet %two")) +
                 role("second", onlyMore("meet %two") + kAsked + "meet %two") +
                 role("third", kAsked + "meet %two"),
             Diag::ScheduleEarlyMeeting);
}

TEST_CASE("that phases are over which somebody does not know of is part of the state") {
  checkFound(kNumbers + "barrier %z " + role("first", onlyMore("arrive %z wait %z arrive %z")) +
                 role("second", kAsked + "arrive %z"),
             Diag::ScheduleEarlyArrival);
}

TEST_CASE("who knows that the last phase is over is part of the state") {
  const std::string tells = kFirstMore + onlyMore("meet %all");
  checkFound(kNumbers + "barrier %z meeting %all parties 2 " + role("first", "arrive %z " + tells) +
                 role("second", tells + kAsked + "arrive %z"),
             Diag::ScheduleEarlyArrival);
}

TEST_CASE("who does not even know that the phase before the last is over is part of the state") {
  const std::string tells = kFirstMore + onlyMore("meet %all");
  checkFound(kNumbers + "barrier %z meeting %all parties 2 " +
                 role("first", "arrive %z wait %z " + tells + "arrive %z") +
                 role("second", tells + kAsked + "wait %z flipped"),
             Diag::ScheduleParity);
}

TEST_CASE("what those knew that have arrived is part of the state, whatever they know by now") {
  const std::string early = kFirstMore + onlyMore("meet %all");
  for (const int arrivals : {1, 2}) {
    CAPTURE(arrivals);
    checkFound(kNumbers + "buffer %x 8 meeting %all parties 2 barrier %z arrivals " +
                   std::to_string(arrivals) + " " +
                   role("writer", "access writes %x " + early + "meet %all") +
                   role("first", early + "arrive %z meet %all") +
                   role("second",
                        kAsked + (arrivals == 2 ? "arrive %z " : "") + "wait %z access reads %x"),
               Diag::ScheduleReadRace);
  }
}

TEST_CASE("what those know that have come to a meeting is part of the state") {
  checkFound(told("buffer %x 8", "access writes %x", "access reads %x", ""),
             Diag::ScheduleReadRace);
}

TEST_CASE("a run that goes on for several knows of each thing no more than the least of them") {
  checkFound(told("buffer %x 8", "access writes %x", "access reads %x", kAsked),
             Diag::ScheduleReadRace);
  checkFound(told("barrier %z", "arrive %z", "arrive %z", kAsked), Diag::ScheduleEarlyArrival);
  checkFound(told("buffer %x 8", "access writes %x access reads %x", "access writes %x", kAsked),
             Diag::ScheduleWriteRace);
}

TEST_CASE("whether the async proxy sees a write is part of the state") {
  checkFound(kNumbers +
                 "buffer %x 8 meeting %one parties 2 number 1 meeting %other parties 2 number 2 " +
                 role("first", "access writes %x " + kFirstMore + onlyMore("fence") + "meet %one") +
                 role("second", "queue %p async " + kFirstMore + "meet %one " + kAsked +
                                    "issue %p reads %x drain %p meet %other") +
                 role("third", "meet %other access reads %x"),
             Diag::ScheduleUnfenced);
}

TEST_CASE("whether the async proxy sees that a barrier was made is part of the state") {
  checkFound(kNumbers +
                 "barrier %z buffer %x 8 meeting %one parties 2 number 1 "
                 "meeting %other parties 2 number 2 " +
                 role("first", "init %z " + kFirstMore + onlyMore("fence") + "meet %one") +
                 role("second", kFirstMore + "meet %one " + kAsked +
                                    "expect %z bytes 8 copy writes %x to %z bytes 8 "
                                    "wait %z meet %other") +
                 role("third", "meet %other arrive %z wait %z flipped"),
             Diag::ScheduleUnmade);
}

TEST_CASE("whether an arrival knows of bytes that were expected without one is part of the state") {
  const std::string tells = kFirstMore + onlyMore("meet %all");
  checkFound(kNumbers + "barrier %full buffer %x 16 meeting %all parties 2 " +
                 role("first", "expect %full bytes 16 count 0 "
                               "copy writes %x to %full bytes 16 " +
                                   tells) +
                 role("second", tells + kAsked + "arrive %full wait %full access reads %x"),
             Diag::ScheduleLateExpect);
}

TEST_CASE("what lies behind all cursors but can be named from there is part of the state") {
  checkFound(kNumbers + "ring %r depth 2 { buffer %a 8 } " +
                 role("one", "cursor %c in %r " + kFirstMore + onlyMore("access writes %a(%c)") +
                                 "advance %c " + kAsked + "access reads %a(%c, -1)"),
             Diag::ScheduleUnwritten);
}

TEST_CASE("who has written what is part of the state") {
  checkFound(
      kNumbers + "buffer %x 8 buffer %y 8 barrier %z meeting %all parties 2 " +
          role("first", "access writes %x " + kFirstMore + onlyMore("meet %all access writes %y")) +
          role("second", "access writes %y " + kFirstMore + onlyMore("meet %all access writes %x") +
                             "arrive %z") +
          role("third", kAsked + "wait %z access reads %x"),
      Diag::ScheduleReadRace);
}

TEST_CASE("which of its writes a role made last is part of the state") {
  checkFound(kNumbers + "buffer %x 8 buffer %y 8 barrier %z barrier %all meeting %one parties 2 " +
                 role("first", "access writes %x " + kFirstMore + "meet %one access writes %y " +
                                   onlyMore("meet %one access writes %x") + "arrive %all") +
                 role("relay", kFirstMore + "meet %one " + onlyMore("meet %one") + "arrive %z") +
                 role("third", kAsked + "wait %z access reads %y wait %all access reads %x"),
             Diag::ScheduleReadRace);
}

TEST_CASE("how many bytes have landed is part of the state") {
  checkFound(kNumbers + "barrier %full arrivals 2 " +
                 role("first", "expect %full bytes 16 copy to %full bytes 8 " + kFirstMore +
                                   onlyMore("copy to %full bytes 8")) +
                 role("second", kAsked + "arrive %full wait %full"),
             Diag::ScheduleDeadlock);
}

TEST_CASE("a write is one that nobody has read, whatever was read before it") {
  const std::string second = role("second", "meet %all " + kAsked + "access writes %x");
  const std::string memory = kNumbers + "buffer %x 8 meeting %all parties 2 ";
  checkFound(memory + role("first", "access writes %x access reads %x meet %all access writes %x") +
                 second,
             Diag::ScheduleWriteRace);
  checkFound(memory +
                 role("first", "queue %f access writes %x issue %f reads %x drain %f meet %all "
                               "access writes %x") +
                 second,
             Diag::ScheduleWriteRace);
}

TEST_CASE("a write that was read is still none that the proxy sees without a fence") {
  checkFound(kNumbers + "barrier %full buffer %x 8 meeting %all parties 2 " +
                 role("first", "access writes %x access reads %x meet %all fence") +
                 role("second", "meet %all " + kAsked +
                                    "expect %full bytes 8 copy writes %x to %full bytes 8 "
                                    "wait %full"),
             Diag::ScheduleUnfenced);
}

TEST_CASE("a write that nobody has waited for is remembered until the end") {
  checkFound(kNumbers + "buffer %x 8 " + role("one", "queue %f issue %f writes %x " + kAsked),
             Diag::ScheduleLeftInFlight);
}

TEST_CASE("how many trips there are is part of the state within a condition on them") {
  checkFound("trips %t trips %q buffer %x 8 " +
                 role("one", "if count %t > 5 { access writes %x } "
                             "if count %t > 0 { " +
                                 kAsked + "if count %t > 2 { access reads %x } }"),
             Diag::ScheduleUnwritten);
}

TEST_CASE("how many trips there are is part of the state in a loop that asks for it in each") {
  const std::string numbers = "if count %t > 2 { } if count %k > 0 { } ";
  checkFound("trips %t trips %q in %t trips %k "
             "ring %r depth 2 { buffer %a 8 barrier %full barrier %empty } " +
                 role("first", "cursor %p in %r " + numbers +
                                   "for %t { wait %empty(%p) flipped arrive %full(%p) "
                                   "advance %p }") +
                 role("second", "cursor %c in %r " + numbers +
                                    "access writes %a(%c) for %t { wait %full(%c) "
                                    "if count %t > 2 { access writes %a(%c) } "
                                    "access reads %a(%c) arrive %empty(%c) advance %c "
                                    "for %q { } }"),
             Diag::ScheduleUnwritten);
}

TEST_CASE("that a barrier was not made yet is part of the state") {
  checkFound(kNumbers + "barrier %z meeting %all parties 2 " +
                 role("first", kFirstMore + onlyMore("init %z") + "meet %all") +
                 role("second", kFirstMore + "meet %all " + kAsked + "arrive %z"),
             Diag::ScheduleUnmade);
}

TEST_CASE("what lies before the first use can be named again where a cursor goes back") {
  checkFound(kNumbers + "ring %r depth 2 { buffer %a 8 } " +
                 role("one", "cursor %c in %r " + kFirstMore +
                                 onlyMore("access writes %a(%c, -1)") + kAsked +
                                 "reset %c access reads %a(%c, -1)"),
             Diag::ScheduleUnwritten);
}

TEST_CASE("which use a content has is part of the state where a cursor goes back") {
  checkFound(kNumbers + "ring %r depth 2 { buffer %a 8 } " +
                 role("one", "cursor %c in %r " + onlyMore("advance %c advance %c") +
                                 "access writes %a(%c) " + kAsked + "reset %c access reads %a(%c)"),
             Diag::ScheduleWrongContent);
}

TEST_CASE("what is still being written is part of the state, though nobody can ask for it") {
  checkFound(kNumbers + "ring %r depth 2 { buffer %a 8 buffer %b 8 } " +
                 role("one", "cursor %c in %r queue %f issue %f writes %a(%c) " + kFirstMore +
                                 onlyMore("drain %f issue %f writes %b(%c)") +
                                 "advance %c advance %c " + kAsked +
                                 "access writes %a(%c) drain %f"),
             Diag::ScheduleWriteRace);
}

TEST_CASE("which slot is next is part of the state where somebody says where it lies") {
  checkFound("trips %k least 1 trips %q ring %r depth 2 { buffer %a 8 at 0 } buffer %x 8 at 0 " +
                 role("one", "cursor %c in %r for %k { advance %c } " + kAsked +
                                 "access writes %x access writes %a(%c) access reads %x"),
             Diag::ScheduleWrongContent);
}

TEST_CASE("how many trips there are at least is part of the state at a condition on them") {
  checkFound("trips %j buffer %x 8 " + role("one", "if count %j > 1 { access reads %x }"),
             Diag::ScheduleUnwritten);
}

} // namespace imbrex::testing
