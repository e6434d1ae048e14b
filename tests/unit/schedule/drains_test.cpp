#include "backend/schedule/check/check.h"
#include "backend/schedule/plan/drains.h"
#include "backend/schedule/program/channels.h"
#include "backend/schedule/program/program_text.h"
#include "backend/schedule/program/well_formed.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <string_view>

using namespace imbrex;
using namespace imbrex::schedule;

namespace {

Program roleOf(const std::string &text) {
  Diagnostics diagnostics;
  auto program = parse(text, "copied.imx", diagnostics);
  REQUIRE_MESSAGE(program, diagnostics.render());
  REQUIRE_MESSAGE(verify(*program, diagnostics), diagnostics.render());
  return std::move(*program);
}

/// Two warps copy for each other in these operations.
Program drained(const std::string &operations) {
  return addDrains(roleOf("schedule @copied {\n  trips %k\n  buffer %tile 64 parts 2\n"
                          "  role %all warps 2 {\n    queue %copies grouped\n" +
                          operations + "\n  }\n}\n"));
}

int meetingsIn(const Program &program) {
  int meetings = 0;
  forEachOp(program.roles.front().body,
            [&](const ScheduleOp &op) { meetings += op.kind == ScheduleOpKind::Meet; });
  return meetings;
}

} // namespace

TEST_CASE("buffers overlap where any of their slots do, in one kind of memory") {
  const auto overlap = [](const std::string &other) {
    const Program program =
        roleOf("schedule @places { ring %r depth 2 { buffer %a 8 at 0 } " + other + " }");
    const bool there = mayOverlap(program, BufferId(0), BufferId(1));
    CHECK(mayOverlap(program, BufferId(1), BufferId(0)) == there);
    return there;
  };
  CHECK(overlap("buffer %x 8 at 8"));
  CHECK_FALSE(overlap("buffer %x 8 at 16"));
  CHECK_FALSE(overlap("buffer %x 8 tensor at 8"));
  CHECK_FALSE(overlap("buffer %x 8"));
}

TEST_CASE("what a loop in a condition did is met for in the condition") {
  const Program program = drained(R"(
    if count %k > 0 {
      for %k {
        issue %copies writes %tile(own)
        commit %copies
      }
      access reads %tile
    })");
  CAPTURE(print(program));
  CHECK(prove(program).isSafe());
  CHECK(meetingsIn(program) == 1);
}

TEST_CASE("what may have been done in the condition is met for in the condition") {
  const Program program = drained(R"(
    for %k {
      issue %copies writes %tile(own)
      commit %copies
      if count %k > 1 {
        if done %k > 0 {
          issue %copies writes %tile(own)
          commit %copies
        }
        access reads %tile
      }
    }
    drain %copies)");
  CAPTURE(print(program));
  CHECK(prove(program).isSafe());
}

TEST_CASE("for what was done in a condition that is left, one meeting serves the next and all") {
  const Program program = drained(R"(
    if count %k > 0 {
      issue %copies writes %tile(own)
    }
    commit %copies
    if count %k > 1 {
      access reads %tile
    }
    if count %k > 0 {
      access reads %tile
    })");
  CAPTURE(print(program));
  CHECK(prove(program).isSafe());
  CHECK(meetingsIn(program) == 1);
}

TEST_CASE("what was done before a condition on one path and in it on another is met for in it") {
  const Program program = addDrains(roleOf(R"(schedule @copied {
  trips %k
  buffer %x 64 parts 2
  buffer %y 64 parts 2
  buffer %z 64 parts 2
  role %all warps 2 {
    queue %copies grouped
    issue %copies writes %x(own)
    commit %copies
    issue %copies writes %y(own)
    commit %copies
    if count %k > 1 {
      access reads %x
      for %k {
        if done %k > 0 {
          issue %copies writes %y(own)
          commit %copies
        }
      }
      issue %copies writes %z(own)
      commit %copies
      access reads %y
    }
    drain %copies
  }
})"));
  CAPTURE(print(program));
  CHECK(prove(program).isSafe());
}

namespace {

constexpr std::uint32_t kSeeds = 200, kRuns = 12;

/// Random operations of a role whose warps copy for each other: into memory of their own, and ahead
/// through a ring.
class RandomRole {
public:
  explicit RandomRole(std::uint32_t seed) : random_(seed) {}

  /// Each part is made before the next, so that all compilers make the same of a seed.
  std::string text() {
    const std::string before = body(0, 0), ahead = stream(), behind = body(0, 0);
    const std::string parts = std::to_string(warps_);
    return "schedule @random {\n  trips %t\n  trips %k in %t\n  trips %j in %k\n"
           "  ring %R depth " +
           std::to_string(depth_) + " {\n    buffer %tile 64 parts " + parts +
           "\n  }\n  buffer %x 64 parts " + parts + "\n  buffer %y 64 parts " + parts +
           "\n  role %all warps " + parts +
           " {\n    cursor %ahead in %R\n    cursor %now in %R\n    queue %copies grouped\n"
           "    access writes %x(own)\n    access writes %y(own)\n" +
           before + ahead + behind + "    drain %copies\n  }\n}\n";
  }

private:
  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_()) % end; }
  std::string buffer() { return below(2) == 0 ? "%x" : "%y"; }

  /// Some statements, in so many loops and conditions.
  std::string body(std::uint32_t loops, std::uint32_t nested) {
    std::string out;
    for (std::uint32_t i = 1 + below(4); i > 0; --i) out += statement(loops, nested);
    return out;
  }

  std::string statement(std::uint32_t loops, std::uint32_t nested) {
    switch (below(nested < 3 ? 8 : 5)) {
    case 0:
    case 1: return "issue %copies writes " + buffer() + "(own)\ncommit %copies\n";
    case 2: return "access reads " + buffer() + "\n";
    case 3: return "access reads " + buffer() + "(own)\n";
    case 4: return "access writes " + buffer() + "(own)\n";
    case 5: {
      const std::string asked = condition(loops);
      return "if " + asked + " {\n" + body(loops, nested + 1) + "}\n";
    }
    default: break;
    }
    if (loops == kTrips.size()) return "commit %copies\n";
    return "for " + std::string(kTrips[loops]) + " {\n" + body(loops + 1, nested + 1) + "}\n";
  }

  /// On the trips of a loop around, or on how many the next ones are.
  std::string condition(std::uint32_t loops) {
    const std::string than = " > " + std::to_string(below(3));
    const std::uint32_t which = below(loops + 1);
    if (which == loops || below(3) == 0)
      return "count " + std::string(kTrips[std::min<std::size_t>(which, kTrips.size() - 1)]) + than;
    return (below(2) == 0 ? "done " : "left ") + std::string(kTrips[which]) + than;
  }

  /// A loop, perhaps in another, that uses what was copied some trips before.
  std::string stream() {
    const bool isInner = below(2) == 0;
    const std::string trips = isInner ? "%k" : "%t";
    const std::uint32_t ahead = below(depth_);
    const std::string fill = "issue %copies writes %tile(%ahead, own)\nadvance %ahead\n";
    std::string out;
    for (std::uint32_t i = 0; i < ahead; ++i)
      out +=
          "if count " + trips + " > " + std::to_string(i) + " {\n" + fill + "}\ncommit %copies\n";
    const std::string use =
        "access reads %tile(%now" + std::string(below(2) == 0 ? "" : ", own") + ")\nadvance %now\n";
    const std::string before = body(isInner ? 2 : 1, 2), behind = body(isInner ? 2 : 1, 2);
    out += "for " + trips + " {\nif left " + trips + " > " + std::to_string(ahead) + " {\n" + fill +
           "}\ncommit %copies\n" + before + use + behind + "}\n";
    return isInner ? "for %t {\n" + out + "}\n" : out;
  }

  static constexpr std::array<std::string_view, 3> kTrips{"%t", "%k", "%j"};
  std::mt19937 random_;
  std::uint32_t depth_ = 1 + below(4), warps_ = 1 + below(2);
};

} // namespace

TEST_CASE("whatever a role does, it is safe with its drains and meetings") {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const std::string text = RandomRole(seed).text();
    const Program program = addDrains(roleOf(text));
    CAPTURE(text);
    CAPTURE(print(program));
    for (std::uint32_t run = 0; run < kRuns; ++run) {
      const TripCount count = [&](TripsId trips, std::int64_t of) {
        std::mt19937 random(run * 97 + trips.index() * 31 + static_cast<std::uint32_t>(of));
        return static_cast<std::int64_t>(random() % 6);
      };
      const Verdict verdict = checkAt(program, count);
      CAPTURE((verdict.isSafe() ? "" : render(verdict.findings.front().what)));
      REQUIRE(verdict.isSafe());
    }
  }
}
