#pragma once

#include "backend/schedule/timeline/timeline.h"

#include <string>

/// Timelines for people. All take the program that the timeline was made of, and names of any kind.
namespace imbrex::schedule {

/// A few lines: how long it takes and what limits it, how busy each resource is, and for what each
/// role waits how long.
std::string summaryOf(const Program &program, const Timeline &timeline);

/// "'tensor' is the limit, busy 100 % of the steady time", or the cycle of operations that is.
std::string limitOf(const Program &program, const Timeline &timeline);

/// "43.3 cycles for each trip of 'k', 130 for 3; no fewer than 30.0, by alu".
std::string describe(const Program &program, TripsId loop, const Interval &interval);

/// A drawing with a lane for each role and each resource, and for what is in flight; waits are
/// hatched. A long timeline is drawn from its beginning on as far as is readable, and says so.
std::string svgOf(const Program &program, const Timeline &timeline);

/// Events in the JSON that trace viewers read (Perfetto, chrome://tracing), a cycle as a
/// microsecond: a track for each role, each resource and each place in flight, and an arrow from
/// what fills a use of a ring to the first thing in each role that reads it.
std::string traceOf(const Program &program, const Timeline &timeline);

/// A sequence diagram in mermaid's language: between the roles stand the barriers, one for each
/// slot, and every wait, arrival and copy is an arrow from or to one. A long one ends where viewers
/// give up, and says so.
std::string mermaidOf(const Program &program, const Timeline &timeline);

} // namespace imbrex::schedule
