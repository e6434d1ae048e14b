#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Move what a loop computes anew each time, from the same values, in front of it.
///
///   before                               after
///   for %lo, %hi, %one (%i: i32) {       %1 = mul %a, %b
///     %1 = mul %a, %b                    for %lo, %hi, %one (%i: i32) {
///     %2 = add %1, %i                      %2 = add %1, %i
///     store %p, %2                         store %p, %2
///   }                                    }
///
/// Every op is defined for every input, so that one may be computed even if the loop makes no trip.
/// Inner loops come first: what leaves one may leave the next. Reads stay, for they might be of
/// memory that is not there when the loop makes no trip; so does what stands inside an if.
///
/// Runs after cse, which may have found an outside value for an operand.
void hoistInvariants(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
