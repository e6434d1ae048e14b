#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Write the products that no instruction makes at once as plain ones.
///
///   before                                      after
///   %1 = dot %a, %b, %c [precision = tf32]      %2, %3 = the tf32 nearest to %a, %b
///                                               %1 = dot %2, %3, %c
///   %1 = dot %a, %b, %c (of f8e4m3fn)           %2, %3 = %a, %b as f32
///                                               %1 = dot %2, %3, %c
///
/// For targets that multiply tiles by multiply-adds. Runs behind split-products and choose-units,
/// and behind expand-products, which makes products; and before expand-conversions, which knows
/// what the casts are.
void expandDots(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
