#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Write each computation in its simplest known form, by the laws in backend/passes/rules.
///
///   before                               after
///   %1 = add %zero, %a                   %2 = sub %a, %b
///   %2 = neg %b                          %3 = mul %s, %t : f32
///   %3 = add %1, %2                      %4 = broadcast %3 : f32[128]
///   %4 = broadcast %s : f32[128]
///   %5 = broadcast %t : f32[128]
///   %6 = mul %4, %5
///
/// Constants go to the right of an op that may exchange its operands. What is computed from
/// repeated values is computed once and then repeated. Values that lose their last user stay for
/// dce.
///
/// Runs before fold and cse, and again after ops were expanded: equal things must look equal.
void canonicalise(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
