#pragma once

#include "backend/ir/kernel.h"

namespace imbrex::passes::pipeline {

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
/// one is read in place. The loop is as its plan has made it (apply_order.h), with each tile read
/// where its load stood.
void readInPlace(ir::Kernel &kernel, ir::Op &loop);

} // namespace imbrex::passes::pipeline
