#pragma once

#include "backend/schedule/timeline/simulation.h"

#include <optional>
#include <vector>

/// What had to wait for what.
namespace imbrex::schedule::timeline {

/// The cycle that makes up the middle half of a whole timeline, on the way back from its end,
/// always to what a span had to wait for; empty where nothing repeats itself throughout it.
std::vector<CriticalStep> criticalCycle(const Timeline &timeline);

/// The cycle that a run goes round that repeats itself; goes on with the run to see it. Exact: it
/// has all cycles of so many periods. Empty where a period has more spans than are kept.
std::vector<CriticalStep> criticalCycle(Simulation &run);

} // namespace imbrex::schedule::timeline
