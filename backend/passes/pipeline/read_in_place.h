#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"
#include "backend/passes/pipeline/loop_loads.h"

#include <set>

namespace imbrex::passes::pipeline {

/// Whether products alone want a tile, and can read it where it lies. Of its padding they make
/// padding.
bool isForProducts(const ir::Kernel &kernel, ir::ValueId tile);
/// The tiles of which that holds, of those that a loop's loads bring: each under all the names that
/// it has on the way there.
std::set<ir::ValueId> readableInPlace(const ir::Kernel &kernel, const LoopLoads &loads);

/// Let products in a loop that was planned read its slots in place.
///
///   before                                   after
///   %s = ring.slot %r : shared<f16[64x32]>   %s = ring.slot %r : shared<f16[64x32]>
///   %x = shared.load %s : f16[64x32] #1
///   barrier.arrive %empty
///   %t = permute %x : f16[32x64] #2          %t = permute %s : shared<f16[32x64]>
///   %u = convert_layout %t : f16[32x64] #3
///   %z = dot %a, %u, %c                      %z = dot %a, %t, %c
///                                            barrier.arrive %empty
///
/// What gives slots back in a body comes behind the last reader of any that the body takes, where
/// one is read in place. The loop is as its plan has made it (apply_plan.h), with each tile read
/// where its load stood.
void readInPlace(ir::Kernel &kernel, ir::Op &loop);

/// Choose the layout of each ring's slots, for what fills them and for the first that reads them;
/// and, where copies lie in the order of lanes, what each lane brings.
///
/// Before: a kernel at stage Laid whose rings are those of its end; slots that threads fill have
/// any layout. After: they have the one that is lowered. Runs last, when it is known who reads a
/// slot, and of kernels from files too: how slots lie is for the machine that code is made for.
void placeSlots(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes::pipeline
