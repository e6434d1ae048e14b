#pragma once

#include "backend/layout/linear_layout.h"

/// Ops that only rearrange a tile, as maps of coordinates: from an element of the result to the
/// element of the operand that it is. Composed behind a layout of the result, such a map says which
/// of the operand's elements each place wants.
///
/// A join is a conversion from one tile: its operands are the halves of a tile with one more
/// register bit, product(operand, identity(Register, the new axis, 1)). A split is none at all once
/// its operand is converted to product(result, identity(Register, the last axis, 1)): the results
/// are the lower and the upper half of the registers.
namespace imbrex::layout {

/// Result axis i is operand axis permutation[i]. f(axis i: x, …) = (axis permutation[i]: x, …)
LinearLayout permuteMap(llvm::ArrayRef<Side> result, llvm::ArrayRef<std::int32_t> permutation);

/// f(x) = x: row-major numbers stay. Both have as many bits.
LinearLayout reshapeMap(llvm::ArrayRef<Side> result, llvm::ArrayRef<Side> operand);

/// f(axis i: x, …) = (axis i: x, or 0 where the operand has one element, …)
LinearLayout broadcastMap(llvm::ArrayRef<Side> result, llvm::ArrayRef<Side> operand);

} // namespace imbrex::layout
