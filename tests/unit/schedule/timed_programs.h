#pragma once

#include "backend/schedule/check.h"
#include "backend/schedule/program_text.h"
#include "backend/schedule/timeline.h"
#include "backend/schedule/well_formed.h"

#include <doctest/doctest.h>

#include <string>

namespace imbrex::schedule::testing {

inline Program parsed(const std::string &body) {
  Diagnostics diagnostics;
  auto program = parse("schedule @test {\n" + body + "}\n", "test.imx", diagnostics);
  const bool isWell = program && verify(*program, diagnostics);
  INFO(diagnostics.render());
  REQUIRE(isWell);
  return *program;
}

inline Timeline timed(const Program &program, const std::vector<std::int32_t> &trips = {}) {
  REQUIRE(checkAt(program, sameTrips(trips)).isSafe());
  auto timeline = simulate(program, trips);
  REQUIRE(timeline.ok());
  return *timeline;
}

struct Pipeline {
  std::int32_t depth = 2, loadBusy = 10, loadCycles = 50, compute = 30, inFlight = 0;
};

/// A loader, a ring, and who computes; `%k` steps in `%tiles`.
inline Program pipelined(const Pipeline &p) {
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

inline Interval intervalOf(const Program &program, std::uint32_t loop = 1) {
  auto interval = initiationInterval(program, TripsId(loop), {1, 1});
  REQUIRE(interval.ok());
  return *interval;
}

/// Gives each operation of a kind what it takes.
inline void addCosts(std::vector<Op> &body, std::int32_t product) {
  for (Op &op : body) {
    if (op.kind == OpKind::Copy) op.cost = {.resource = "bus", .cycles = 600, .busy = 60};
    if (op.kind == OpKind::Issue)
      op.cost = {.resource = "tensor", .cycles = product, .busy = product};
    if (op.kind == OpKind::Access) op.cost = {.resource = "alu", .cycles = 90, .busy = 30};
    addCosts(op.body, product);
  }
}

inline Program costed(Program program, std::int32_t product = 128) {
  for (Role &role : program.roles) addCosts(role.body, product);
  return program;
}

} // namespace imbrex::schedule::testing
