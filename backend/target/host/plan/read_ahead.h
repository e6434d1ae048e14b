#pragma once

#include "backend/target/host/plan/loop_plan.h"

namespace imbrex::host {

/// Before: the nests are known. After: nests say what they read ahead (`Nest::ahead`).
///
/// Processors fetch a stream ahead of its reads, but no further than the reads go. A block that
/// walks over its box more than once, like a softmax, reads memory during its first walk only, and
/// computes on what is in the first-level cache during the others, while memory idles. So the last
/// nest that reads a box prefetches the box of the next block, element by element: each thread runs
/// neighbouring blocks one after the other. A nest that is the only one to read a box is left to
/// the processor.
///
/// A prefetch never faults, so that the next block's box may lie outside its view, and need not be
/// what the next block reads: only time depends on it.
void planReadAhead(LoopPlan &plan, const ir::Kernel &kernel);

} // namespace imbrex::host
