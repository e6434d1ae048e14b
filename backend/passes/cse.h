#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Compute once what is computed twice from the same values, and read memory once where nothing in
/// between may have written it.
///
///   before                    after
///   %1 = add %a, %b           %1 = add %a, %b
///   %2 = add %b, %a           %3 = load %p
///   %3 = load %p              %5 = mul %1, %1
///   %4 = load %p              %6 = sub %5, %3
///   %5 = mul %1, %2
///   %6 = sub %5, %4
///
/// A region sees what was computed before it, outside; nobody sees what a region computed, for it
/// may not have run. Reads are merged within one block only. A combine region keeps what it
/// computes to itself.
///
/// Runs after canonicalise and fold, which write the same value in the same way.
void mergeCommonValues(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
