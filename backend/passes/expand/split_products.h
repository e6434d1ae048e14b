#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Write products of f32 in parts (`tf32x3`, `bf16x3`) as products that a matrix unit makes.
///
///   before                                      after (sm_80)
///   %1 = dot %a, %b, %c [precision = bf16x3]    %A = %a as bf16, %a' = %a - %A as bf16
///                                               %B, %b' = likewise
///                                               %2 = dot %a', %B, %c
///                                               %3 = dot %A, %b', %2
///                                               %1 = dot %A, %B, %3
///
/// k is cut into as much as the unit takes at a time, and each piece split for itself, so that no
/// more than a piece's parts are in registers. Where a part would be an infinity or NaN, the two
/// small products have zeros in its place: the big one alone says what comes of it.
///
/// A machine whose unit takes f32 as they are multiplies those: that is exact, and splitting keeps
/// the threads busy for longer than the unit (bench/results/2026-11-24-computed-operands.jsonl). So
/// do multiply-adds, which take as long for a part as for all. `tf32`, too, is f32 on a unit that
/// has f32 and no tf32.
///
/// Runs before choose-units, for which the parts are products like others.
void splitProducts(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
