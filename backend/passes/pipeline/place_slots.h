#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes::pipeline {

/// Choose the layout of each ring's slots, once: for what fills them and for the first that reads
/// them; and, where copies lie in the order of lanes, what each lane brings.
///
///   before                                          after
///   %r = ring.new : ring<f16[64x32]> #0             %r = ring.new : ring<f16[64x32]> #4
///   %s = ring.slot %r : shared<f16[64x32]> #1       %s = ring.slot %r : shared<f16[64x32]> #5
///   %t = permute %s : shared<f16[32x64]> #2         %t = permute %s : shared<f16[32x64]> #6
///   %z = dot %a, %t, %c                             %z = dot %a, %t, %c
///
/// #1 is any layout, #5 the one that is lowered, and #6 is that under the permuted names. #4 is #0
/// but where lanes bring other elements for the sake of #5.
///
/// Runs when it is known who reads a slot, and of kernels from files too: how slots lie is
/// for the machine that code is made for.
void placeSlots(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes::pipeline
