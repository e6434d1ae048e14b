#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/pass_context.h"

namespace imbrex::passes {

/// Load f4e2m1 as bytes where they are wanted as bytes.
///
///   before                                        after
///   %0 = view.load %a, %i, %j : f4e2m1[64x64]     %v = view.bytes %a : view<const u8, 2>
///   %1 = bitcast %0 : u8[64x32]                   %1 = view.load %v, %i, %j : u8[64x32]
///
/// Also where a reshape to one axis stands between, of which pairs are pairs of the rows. So
/// products on matrix units (choose-units) and conversions (expand-conversions) want them. A byte
/// fills slots and is read by threads as any other element; an f4e2m1 has none for itself.
///
/// Rows of the view have to be whole bytes, and boxes to begin with them: that is assumed of the
/// launch, or known where boxes are counted. Runs behind what writes the bitcasts and brings them
/// next to loads, and before assign-layouts.
void loadBytes(ir::Kernel &kernel, const PassContext &context);

} // namespace imbrex::passes
