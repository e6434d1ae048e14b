#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Do what is done element by element to tiles that crowd the registers in a loop over their parts.
///
///   before                                     after
///   %1 = view.load %x, %0 : f32[65536]         %1 = mul (cast %0), 8 : i64
///   %2 = exp %1 : f32[65536]                   for 0, 8, 1 (%part: i32) {
///   view.store %y, %2, %0                        %2 = add %1, (cast %part) : i64
///                                                %3 = view.load %x, %2 : f32[8192]
///                                                %4 = exp %3 : f32[8192]
///                                                view.store %y, %4, %2
///                                              }
///
/// An op acts as if it touched its whole tile before the next op begins, so that all would be
/// loaded before the first element is stored. In parts it is the same where
///
///   - nobody else sees the tiles: what follows reads them in memory, where all parts have arrived;
///   - an element is of one part, and no store of a part touches what another part reads or writes:
///     other parameters' memory, or other elements of the same box, which the launch promises to be
///     apart;
///   - the parts' places are those of the elements: reckoned in 64 bits, where an index of 32 bits
///     cannot overflow.
///
/// Runs when all is simplified once, so that few scalars stand between, and before expand-math,
/// so that a function is written for a part.
void loopOverParts(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
