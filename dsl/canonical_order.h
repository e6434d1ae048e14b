#pragma once

#include "backend/ir/kernel.h"
#include "llvm/ADT/DenseSet.h"

namespace imbrex::dsl {

/// Give a recorded kernel the order that its author wrote, whatever compiler evaluated it.
///
/// C++ leaves open whether `load(p)` or `load(q)` comes first in `load(p) + load(q)`, so that two
/// compilers record them in different orders. What has effects stands in statements of its own and
/// keeps its order; what computes moves down to its first use, operands from left to right; and a
/// read of memory moves likewise, but never over something with an effect:
///
///   recorded                 ordered
///   %1 = load %q             %0 = load %p
///   %0 = load %p             %1 = load %q
///   %2 = add %0, %1          %2 = add %0, %1
///   store %r, %2             store %r, %2
///
/// A value that nothing uses keeps its place, so that the text shows it. The reads numbered in
/// `discardable` are dropped when nothing uses them.
void orderCanonically(ir::Kernel &kernel, const llvm::DenseSet<std::uint32_t> &discardable);

} // namespace imbrex::dsl
