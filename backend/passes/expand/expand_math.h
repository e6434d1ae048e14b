#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Write elementary functions and float remainders as the exact operations that define them
/// (backend/math): every executor that generates code computes the interpreter's bits.
///
///   before                 after
///   %1 = exp %x : f32[64]  %k = fma %x, %log2e, %rounder
///                          …
///                          %1 = select %isNumber, %scaled, %nan
///
/// f16 and bf16 are computed in f32 and rounded once more. A function with values that only few
/// elements need (the angle of a sine beyond 2^17) stands on either side of an `if`, with them and
/// without, and no tile comes to the longer one without such an element; the functions of one angle
/// share it. An op that asks for fast accuracy stays, in f32, if the machine has a form of its own
/// for it; else it gets the same code, whose bound is narrower.
///
/// Runs after the first round of simplification, so that less is expanded, and before the second,
/// which merges what two functions of one value share.
void expandMath(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
