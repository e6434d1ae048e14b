#pragma once

#include "backend/passes/pipeline/order_loop.h"

namespace imbrex::passes::pipeline {

/// Write the order in which a loop's loads run ahead into the kernel: mechanical, no decisions.
///
///   before                              after, for 3 slots
///                                       %r = ring.new [slots = 3]      // in the kernel's body
///                                       ring.copy %r, low < high, address(trip 0); ring.commit
///                                       ring.copy %r, …, address(trip 1); ring.commit
///   for %i = low … high [pipelined] {   for %i = low … high {
///                                         ring.drain 1; meet
///                                         ring.copy %r, high - %i > 2 steps, address(trip + 2)
///                                         ring.commit
///     %x = load address(%i)               %x = shared.load (ring.slot %r)
///     use %x                              use %x
///   }                                   }
///
/// Boxes that the engine loads count their bytes on a barrier for each slot, whose phases the trips
/// wait for:
///
///                                       %full = barrier.new [slots = 3]
///                                       if low < high { barrier.expect %full; ring.load_box … }
///                                       …
///                                       for %i = low … high {
///                                         barrier.wait %full; meet
///                                         if high - %i > 2 steps {
///                                           barrier.expect %full [bytes = …]
///                                           ring.load_box %r, %full, address(trip + 2)
///                                         }
///                                         %x = shared.load (ring.slot %r)
///
/// Where the engine brings some tiles and the threads copy others, both stand there: the trip waits
/// for the phase and for the group.
///
/// In an order of two roles, what each does in a trip comes one behind the other; split-roles
/// (split_roles.h) takes it apart:
///
///                                         barrier.wait %empty [flipped = true]     // loads
///                                         barrier.expect %full [bytes = …]
///                                         ring.load_box %r, %full, address(trip)
///                                         barrier.wait %full                       // computes
///                                         %x = shared.load (ring.slot %r)
///                                         barrier.arrive %empty
///
/// Carried values that addresses are made of get a second carried value, that of the trip whose
/// copies are started. What a trip that never comes would copy is left out by the condition, which
/// is spelled so that it holds whatever the numbers are: `high - %i`, as an unsigned number,
/// against the distance.
///
/// Returns the rings, by load: new ones, or those given, of a loop in front of it (refill_rings.h).
std::vector<ir::ValueId> applyOrder(ir::Kernel &kernel, ir::Block &block, std::size_t loop,
                                    const LoopLoads &loads, const LoopOrder &order,
                                    std::vector<ir::ValueId> rings);

} // namespace imbrex::passes::pipeline
