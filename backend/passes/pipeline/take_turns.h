#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes::pipeline {

/// Let halves of the warps take turns in a product's loop: while one multiplies, the other reads
/// and loads (*ping-pong*). Each partition of a core has a warp of each.
///
///   before                              after
///                                         ring.drain; meet
///                                         meet [half = second]      // a cluster behind from here
///                                         on
///   %r = for … (%i, %c) {                 %r = for … (%i, %c) {
///     ring.drain; meet                      %s = ring.slot %a; %t = ring.slot %b
///     ring.copy_box %a …, %b …              %x0, %y0 = shared.load slice %s, slice %t
///     ring.commit                           ring.copy_box %a …, %b …; ring.commit
///     %s = ring.slot %a                     meet
///     %t = ring.slot %b                     %d = dot %x0, %y0, %c
///     %z = dot %s, %t, %c                   meet
///     yield %z                              %x1, %y1 = shared.load slice %s, slice %t
///   }                                       ring.drain
///                                           meet
///                                           %z = dot %x1, %y1, %d
///                                           meet
///                                           yield %z
///                                         }
///                                         meet [half = first]
///
/// What registers bring is stored in a cluster of its own, between two halves of the last product.
/// In which cluster slots are filled, the planner of turns says (plan_turns.h). What comes out is
/// proven as all loops are: the halves are two roles then (read_schedule.h).
///
/// Runs behind place-slots, of loops of which plan-loops has decided so; where the slots have
/// become others than were planned, the loop stays as it is, which is in order, too.
void takeTurns(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes::pipeline
