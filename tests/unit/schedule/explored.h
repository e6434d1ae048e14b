#pragma once

#include "tests/support/schedule_builder.h"
#include "tests/support/schedule_oracle.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <utility>

/// What the tests of the oracle have in common.
namespace imbrex::testing {

using Failures = std::set<Failure>;

inline const Failures kNoFailure = {};

/// What can go wrong; it does so with and without the reduction.
inline Failures explored(ScheduleBuilder &build) {
  const schedule::Program program = build.take();
  const auto count = [](schedule::TripsId, std::int64_t) { return std::int64_t{1}; };
  const Exploration all = explore(program, count, {.reduced = false});
  const Exploration found = explore(program, count);
  REQUIRE(all.complete);
  REQUIRE(found.complete);
  CHECK(all.failures.empty() == found.failures.empty());
  CHECK(all.states >= found.states);
  return found.failures;
}

/// A buffer and a barrier that two roles have to do with.
struct Pair {
  explicit Pair(std::int32_t arrivals = 1, schedule::Buffer what = {.name = "x", .bytes = 8})
      : x(build.buffer(std::move(what))), full(build.barrier("full", {}, arrivals)) {}

  ScheduleBuilder build = ScheduleBuilder("pair");
  schedule::BufferId x;
  schedule::BarrierId full;
};

} // namespace imbrex::testing
