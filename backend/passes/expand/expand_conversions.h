#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Write the conversions to and from narrow floats (f8, f4, scales) as operations on their codes
/// (backend/math/small_float.h), so that no target needs to know these formats.
///
///   before                          after
///   %1 = cast %x : f32[64]          %2 = bitcast %x : u8[64]
///                                   %3 = cast %2 : u32[64]
///                                   …
///                                   %1 = bitcast %9 : f32[64]
///
/// A number is rounded once, on its way to the narrow float: what f32 cannot hold goes there by a
/// rounding to odd, after which another one does no harm.
///
/// Runs after expand-products, which makes such conversions. Inside a combine f4e2m1 stays as it
/// is, for there are no pairs of scalars.
void expandConversions(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
