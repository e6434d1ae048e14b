#pragma once

#include "backend/schedule/program/program.h"

namespace imbrex::schedule::check {

/// A program with all the runs of the given one that have so many trips: rings which none of them
/// goes round have no more slots than are used, for the others are nobody's business, and a run's
/// clocks have a number for each.
Program withSlotsFor(const Program &program, const TripCount &count);

} // namespace imbrex::schedule::check
