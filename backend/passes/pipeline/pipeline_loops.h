#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Start the loads of loops that are marked `pipelined` some trips ahead, by asynchronous copies
/// into rings of slots in shared memory (docs/scheduling.md).
///
///   before                                        after
///   for %0, %n, %1 [pipelined = 3] (%i: i64) {    %r = ring.new [slots = 3] : ring<f16[64x32]> #1
///     %a = view.load %A, %m, %i : f16[64x32] #1   … the copies of two trips
///     …                                           for %0, %n, %1 (%i: i64) {
///   }                                               ring.drain [count = 1]
///                                                   meet
///                                                   … the copy of the trip after next
///                                                   %s = ring.slot %r : shared<f16[64x32]> #2
///                                                   %a = shared.load %s : f16[64x32] #1
///                                                   …
///                                                 }
///
/// Products read a slot where it lies (read_in_place.h). Where an engine can bring all of a loop's
/// tiles, it does, if possible by a role of its own (apply_plan.h, split_body.h). On a machine
/// without asynchronous copies, and where these cannot bring a loop's loads in the order of lanes,
/// the loads run one trip ahead in registers (stage_loads.h). A load that cannot run ahead stays
/// where it is, and so does a loop without any; `--explain` says why.
///
/// Runs on a kernel at stage Laid, because a copy is made by the threads that hold the tile, in
/// vectors as wide as the layout allows; behind count-trips, so that each loop that is marked
/// counts; and last but for place-slots, because what it writes is in the order that was planned.
void pipelineLoops(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
