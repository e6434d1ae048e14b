#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Decide what is known before the launch: an op of constants is a constant, an if on a constant is
/// one of its bodies, a for that makes no trip is its initial values, one that makes a single trip
/// is its body.
///
///   before                            after
///   %1 = lt %two, %three              %3 = mul %a, %a
///   %2 = if %1 {                      store %p, %3
///     %3 = mul %a, %a
///     yield %3
///   } else {
///     yield %a
///   }
///   store %p, %2
///
/// So is the stride of a view's last axis, where every launch of the code has 1.
///
/// A mask that is on everywhere goes from its load or store, and so do a break_if, an exit_if and
/// an assert that never act.
///
/// Runs after canonicalise, whose laws leave more constants behind.
void foldConstants(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
