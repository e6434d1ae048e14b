#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes::pipeline {

/// Say of the loads of loops that are marked `pipelined` which could run ahead, and what would
/// bring them.
///
///   before                            after
///   for … [pipelined = 3] (%i) {      for … [pipelined = 3] (%i) {
///     %a = view.load %A, %m, %i         %a = view.load %A, %m, %i [ahead = boxes]
///     %b = load %p, %mask               %b = load %p, %mask [ahead = copies, width = 8]
///     %c = load %s                      %c = load %s [ahead = registers]  // of single bytes
///     %d = load %q                      %d = load %q      // the loop writes it
///
/// Those can that stand in the loop's own body, whose addresses are made without memory from the
/// loop's index, from values that were there before, and from carried values that are made so too;
/// and which nothing in the loop may write. Each is brought by the first way that can: by the
/// engine, boxes of views that nothing in the kernel writes, as the engine comes to memory by a way
/// of its own; by asynchronous copies, where each thread has enough neighbours at once for a copy;
/// else in registers. What keeps a load from it `--explain` says.
///
/// Runs on a kernel at stage Laid, because a copy is made by the threads that hold the tile, in
/// vectors as wide as the layout allows; behind count-trips, so that each loop that is marked
/// counts; and in front of plan-loops, which decides whether it pays. What earlier passes have said
/// of how loads run ahead is forgotten: it may have been for another machine.
void studyLoads(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes::pipeline
