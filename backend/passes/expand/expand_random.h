#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Write Philox4x32-10 as the ten rounds of products and exclusive ors that it is.
///
///   before                                      after (one of ten rounds)
///   %1, %2, %3, %4 = philox %key, %counter      %high = umulhi %a, %multiplier
///                                               %low = mul %a, %multiplier
///                                               %c' = xor (xor %high, %d), %key
///                                               …
///
/// For targets, none of which has an instruction for it; the interpreter has the op itself. Runs
/// after the first round of simplification, so that less is expanded, and before the second, which
/// merges what several generators share.
void expandRandom(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
