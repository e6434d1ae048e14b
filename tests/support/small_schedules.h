#pragma once

#include "backend/schedule/program/program.h"
#include "tests/support/schedule_trace.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

/// Schedules that run, for mutants of them to be explored and checked.
namespace imbrex::testing {

/// By the trips' names, how many there are in each trip of those that they are within, over and
/// over: one number is for all.
using TripTable = std::map<std::string_view, std::vector<std::int64_t>>;

TripCount tripsByName(const schedule::Program &program, const TripTable &table);

/// A schedule without a fault, small enough to be changed and explored thousands of times.
struct SmallSchedule {
  std::string_view name;
  std::function<schedule::Program()> make;
  TripTable trips;
};

const std::vector<SmallSchedule> &smallSchedules();

} // namespace imbrex::testing
