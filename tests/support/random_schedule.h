#pragma once

#include "backend/schedule/program/program.h"

#include <cstdint>

/// Random well-formed schedules over every kind of operation, for tests that compare: a program
/// with its text, one checker with another, a program with a mutant of it.
namespace imbrex::testing {

struct RandomScheduleOptions {
  std::int32_t roles = 3;
  std::int32_t rings = 3;
  std::int32_t size = 12;   ///< At most so many operations in a body.
  std::int32_t nesting = 4; ///< At most so many bodies within the role's own.
};

/// It keeps every rule of backend/schedule/program/well_formed.h, and else does anything: it may
/// block for ever, and race. Ids are in the order of the text, so that parsing gives them back.
schedule::Program randomSchedule(std::uint32_t seed, const RandomScheduleOptions &options = {});

} // namespace imbrex::testing
