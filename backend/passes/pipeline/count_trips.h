#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes::pipeline {

/// Let each loop that is marked `pipelined` count its trips, unless its step is a positive
/// constant: what runs ahead of a trip must know how many are left, and a step of the launch, or
/// one that goes down, does not say.
///
///   for %low, %high, %step (%i: i32) {      %n = how often: 0 where it never runs : u32
///     …                                     for 0, %n, 1 (%t: u32) {
///                                             %i = add %low, (mul (bitcast %t), %step)
///                                             …
///
/// Before: any stage. After: the step of each marked loop is a positive constant. The number of
/// trips is that of docs/semantics.md: nothing in it overflows, for it is computed without a sign.
///
/// Runs in front of study-loads, which takes it that each marked loop counts its trips.
void countTrips(ir::Kernel &kernel, const PassContext &context);

/// The integer type of the same width without a sign.
ir::ElementKind withoutSign(ir::ElementKind kind);

} // namespace imbrex::passes::pipeline
