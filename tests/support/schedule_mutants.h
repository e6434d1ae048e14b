#pragma once

#include "backend/schedule/program/program.h"

#include <optional>
#include <random>
#include <string>

/// Schedules with one mistake, for the checker to be compared with the oracle on.
namespace imbrex::testing {

struct Mutant {
  schedule::Program program;
  std::string what; ///< The change, for a failing test's message.
};

/// One random change of what orders the operations of a schedule: one is left out, done twice,
/// moved by one place (also into or out of a condition), waits for the other parity, counts one
/// more or less, or means another barrier, slot or cursor; or a barrier, meeting or ring has one
/// more or less. None where what was drawn has nothing
/// to change, or would no more be well formed.
std::optional<Mutant> mutate(const schedule::Program &program, std::mt19937 &random);

} // namespace imbrex::testing
