#pragma once

#include "backend/schedule/check/model.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace imbrex::schedule::check {

/// What an agent did, for people.
struct TraceStep {
  std::int32_t agent;
  const ScheduleOp *op;
};

using NameOf = std::function<std::string(std::int32_t agent)>;

/// A run from its first step on, a line for each. Of steps that come again and again in the same
/// order, as those of a loop's trips do, there are the first and the last, and how often they come
/// in between.
std::vector<std::string> linesOf(const Model &model, const std::vector<TraceStep> &trace,
                                 const NameOf &nameOf);

} // namespace imbrex::schedule::check
