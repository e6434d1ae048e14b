#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Say how the threads of a block hold each tile.
///
///   before                                after
///   kernel @k(…) stage tiles {            kernel @k(…) stage laid lanes 32 warps 1 {
///                                           layout #0 = register [[1],[2]] lane [[4],…] … of [128]
///     %0 = arange : i32[128]                %0 = arange : i32[128] #0
///     …                                     …
///   }                                     }
///
/// Behind it every tile of rank 1 or more has a layout, and the layouts of an op's tiles hang
/// together by the rules of docs/ir.md ("Stage laid"), which the verifier checks and on which
/// lowering relies: elementwise ops, memory accesses, scans and sorts have one layout for all of
/// their tiles; a reduction's result has its operand's without the axis; the accumulator and the
/// result of a product have one; what a loop or an if carries has one all along. What moves data
/// takes and gives any layout. `convert_layout` stands where a rule needs another layout.
///
/// Takes a kernel from stage Tiles to Laid. Runs behind everything that changes shapes, adds or
/// drops tiles: layouts are chosen for the tiles that there really are.
void assignLayouts(ir::Kernel &kernel, const PassContext &context);

/// Whether blocks of so many threads have the warps and registers that the kernel's author asks
/// for; else why not is reported.
bool hasRoomFor(const ir::Kernel &kernel, layout::Threads threads, const PassContext &context);

} // namespace imbrex::passes
