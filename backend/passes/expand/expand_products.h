#pragma once

#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"

namespace imbrex::passes {

/// Write a product of scaled narrow floats as a product of the scaled numbers.
///
///   before                                        after
///   %1 = dot_scaled %a, %b, %c, %s, %t            %2 = cast %a : f32[64x128]
///                                                 %3 = cast %s : f32[64x4]
///                                                 …             (each scale, 32 times along k)
///                                                 %4 = mul %2, %scales
///                                                 %1 = dot %4, …, %c
///
/// A number times its scale is exact in f32 unless it leaves the range of f32.
///
/// Runs before expand-conversions, which knows what the casts are.
void expandProducts(ir::Kernel &kernel, Diagnostics &diagnostics);

} // namespace imbrex::passes
