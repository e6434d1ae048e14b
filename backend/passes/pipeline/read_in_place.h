#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"
#include "backend/passes/pipeline/loop_loads.h"

#include <set>

namespace imbrex::passes::pipeline {

/// The tiles that products can read where they lie in a ring, of those that a loop's loads bring:
/// each under all the names that it has on the way there.
std::set<ir::ValueId> readableInPlace(const ir::Kernel &kernel, const LoopLoads &loads);

/// Let products read slots in place.
///
///   before                                    after
///   %s = ring.slot %r : shared<f16[64x32]>    %s = ring.slot %r : shared<f16[64x32]>
///   %x = shared.load %s : f16[64x32] #1
///   barrier.arrive %empty
///   %t = permute %x [order = [1, 0]] #2       %t = permute %s [order = [1, 0]] :
///   shared<f16[32x64]> %u = convert_layout %t #3 %z = dot %a, %u, %c                       %z =
///   dot %a, %t, %c
///                                             barrier.arrive %empty
///
/// What gives the slot back comes behind its last reader. Rings come from plans (apply_plan.h), in
/// which a tile is read where its load stood.
void readInPlace(ir::Kernel &kernel);

/// Choose the layout of each ring's slots, for what fills them and for the first that reads them;
/// and, where copies lie in the order of lanes, what each lane brings.
void placeSlots(ir::Kernel &kernel, const machine::Machine &machine);

} // namespace imbrex::passes::pipeline
