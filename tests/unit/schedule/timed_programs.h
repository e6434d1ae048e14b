#pragma once

#include "backend/schedule/check/check.h"
#include "backend/schedule/program/program_text.h"
#include "backend/schedule/program/well_formed.h"
#include "backend/schedule/timeline/timeline.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace imbrex::testing {

/// A program that parses, well formed or not.
inline schedule::Program programOf(const std::string &text) {
  Diagnostics diagnostics;
  auto program = schedule::parse(text, "t.imx", diagnostics);
  REQUIRE_MESSAGE(program, diagnostics.render());
  return *program;
}

/// A well-formed one, of which this is the body.
inline schedule::Program parsed(const std::string &body) {
  auto program = programOf("schedule @test {\n" + body + "}\n");
  Diagnostics diagnostics;
  const bool isWell = schedule::verify(program, diagnostics);
  INFO(diagnostics.render());
  REQUIRE(isWell);
  return program;
}

inline schedule::Timeline timed(const schedule::Program &program,
                                const std::vector<std::int32_t> &trips = {}) {
  REQUIRE(schedule::checkAt(program, schedule::sameTrips(trips)).isSafe());
  auto timeline = schedule::simulate(program, trips);
  REQUIRE(timeline.ok());
  return *timeline;
}

struct Pipeline {
  std::int32_t depth = 2, loadBusy = 10, loadCycles = 50, compute = 30, inFlight = 0;
};

/// A loader, a ring, and who computes; `%k` steps in `%tiles`.
inline schedule::Program pipelined(const Pipeline &p) {
  const auto n = [](std::int32_t number) { return std::to_string(number); };
  std::string body = "trips %tiles trips %k in %tiles ring %AB depth " + n(p.depth) + R"( {
      buffer %A 64
      barrier %full
      barrier %empty arrivals 4
    }
    role %load {
      cursor %p in %AB
      for %tiles { for %k {
        wait %empty(%p) flipped
        expect %full(%p) bytes 64
        copy writes %A(%p) to %full(%p) bytes 64 takes )" +
                     n(p.loadCycles) + " on bus busy " + n(p.loadBusy) + R"(
        advance %p
      } }
    }
    role %compute warps 4 {
      cursor %c in %AB
      queue %products serial grouped async
      for %tiles {
        for %k {
          wait %full(%c)
          issue %products reads %A(%c) takes )" +
                     n(p.compute) + " on alu busy " + n(p.compute) + R"(
          commit %products
          drain %products to )" +
                     n(p.inFlight) + "\n";
  if (p.inFlight == 0)
    body += "arrive %empty(%c) advance %c } } }\n";
  else
    body += "if done %k > 0 { arrive %empty(%c, -1) } advance %c }\n"
            "drain %products if count %k > 0 { arrive %empty(%c, -1) } } }\n";
  return parsed(body);
}

inline schedule::Interval intervalOf(const schedule::Program &program, std::uint32_t loop = 1) {
  auto interval = schedule::initiationInterval(program, schedule::TripsId(loop), {1, 1});
  REQUIRE(interval.ok());
  return *interval;
}

/// Gives each operation of a kind what it takes.
inline void addCosts(std::vector<schedule::ScheduleOp> &body, std::int32_t product) {
  using namespace schedule;
  for (ScheduleOp &op : body) {
    if (op.kind == ScheduleOpKind::Copy) op.cost = {.resource = "bus", .cycles = 600, .busy = 60};
    if (op.kind == ScheduleOpKind::Issue)
      op.cost = {.resource = "tensor", .cycles = product, .busy = product};
    if (op.kind == ScheduleOpKind::Access) op.cost = {.resource = "alu", .cycles = 90, .busy = 30};
    addCosts(op.body, product);
  }
}

inline schedule::Program costed(schedule::Program program, std::int32_t product = 128) {
  for (schedule::Role &role : program.roles) addCosts(role.body, product);
  return program;
}

} // namespace imbrex::testing
