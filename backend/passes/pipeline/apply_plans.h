#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes::pipeline {

/// Start loads of loops some trips ahead, as study-loads and plan-loops have decided: by copies
/// into rings of slots in shared memory (apply_order.h), or in registers and perhaps on into slots
/// (stage_loads.h). What is copied or stored comes to lie on threads so that each has neighbours
/// (copy_layout.h).
///
///   before                                        after
///   for %0, %n, %1 [slots = 3] (%i: i64) {        %r = ring.new [slots = 3] : ring<f16[64x32]> #1
///     %a = view.load %A, %m, %i                   … the copies of two trips
///         [ahead = copies] : f16[64x32] #1        for %0, %n, %1 (%i: i64) {
///     …                                             ring.drain [count = 1]
///   }                                               meet
///                                                   … the copy of the trip after next
///                                                   %s = ring.slot %r : shared<f16[64x32]> #2
///                                                   %a = shared.load %s : f16[64x32] #1
///                                                   …
///                                                 }
///
/// Who waits for what is planned for the loop's program (order_loop.h), by addBarriers or addDrains
/// of schedule/plan.
///
/// Products read a slot where it lies (read_in_place.h), and what all want in another layout is
/// read in that.
///
/// After it the kernel is at stage Scheduled: what is in slots, and who waits for what, can be read
/// off it and proven (prove_rings.h).
///
/// Runs behind plan-loops, and in front of split-roles, which takes a body apart that is written
/// for two roles. No pass that follows may move what apply-plans and split-roles write, which is in
/// the order that was planned; store-factors writes in front of loops, and place-slots lays slots
/// out.
void applyPlans(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes::pipeline
