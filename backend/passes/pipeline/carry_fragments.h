#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes::pipeline {

/// Let the last products of a trip run while the first operands of the next are read: their
/// fragments go from one trip to the next in registers.
///
///   before                                 after
///   %r = for … (%i, %c) {                  %r, %v, %w = for … (%i, %c, %x, %y) {  // from zeros
///     barrier.wait %full                     barrier.wait %full
///     %s = ring.slot %a                      %s = ring.slot %a
///     %t = ring.slot %b                      %t = ring.slot %b
///     %z = dot %s, %t, %c                    %d = dot %x, %y, %c      // what the last trip left
///     barrier.arrive %empty                  %z = dot slice %s, slice %t, %d
///     yield %z                               %x1 = shared.load slice %s
///   }                                        %y1 = shared.load slice %t
///                                            barrier.arrive %empty
///                                            yield %z, %x1, %y1
///                                          }
///                                          %u = dot %v, %w, %r
///
/// Memory is touched in the same order as before; only arithmetic is done later. The first trip
/// multiplies zeros. Of sums that go from trip to trip as they are, whose operands both lie in
/// slots that the trip takes, and of a thread that has the registers.
///
/// Runs behind place-slots: how a slot lies follows from all products together.
void carryFragments(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes::pipeline
