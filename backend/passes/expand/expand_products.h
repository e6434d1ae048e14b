#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Write a product of scaled narrow floats as a product of the scaled numbers.
///
///   before                                        after
///   %1 = dot_scaled %a, %b, %c, %s, %t            %2 = cast %a : f64[64x128]
///                                                 %3 = cast %s : f64[64x4]
///                                                 …             (each scale, 32 times along k)
///                                                 %4 = mul %2, %scales
///                                                 %5 = dot %4, …, %c as f64
///                                                 %1 = cast %5 : f32[64x64]
///
/// In f64, where a number times its scale is exact; in f32 it may leave the range.
///
/// What has a matrix unit stays. Runs behind choose-units, and before expand-conversions, which
/// knows what the casts are.
void expandProducts(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
