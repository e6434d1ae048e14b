#pragma once

#include "llvm/IR/Function.h"

namespace imbrex::lower {

/// Compute each number where it is first asked for, in every basic block.
///
///   before                        after
///   a0 = f(x0)  a1 = f(x1)        a0 = f(x0)  b0 = g(a0)
///   b0 = g(a0)  b1 = g(a1)        a1 = f(x1)  b1 = g(a1)
///   s = b0 + b1                   s = b0 + b1
///
/// Ops on tiles are lowered one after the other, each for all registers of the tile. In this order
/// every op would keep the whole tile alive; by demand, an element is done with before the next one
/// begins. What touches memory or other threads stays in its order. Sums of a matrix instruction
/// that end in others are added to these behind it, before anybody asks.
///
/// Runs on what lowering has just made; the optimiser and the code generators keep the order
/// largely, the more so the fewer registers there are.
void orderByDemand(llvm::Function &function);

} // namespace imbrex::lower
